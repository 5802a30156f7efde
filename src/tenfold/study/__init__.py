"""From a table to a judged model: task, ladder of models, choice, sealed test, warnings."""
