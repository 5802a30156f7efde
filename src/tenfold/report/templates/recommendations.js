// One user at a time: the choice shows that user's list and hides the others.
addEventListener("DOMContentLoaded", () => {
  const choice = document.getElementById("user-choice");
  const views = [...document.querySelectorAll(".user-view")];
  const show = () => views.forEach((view) => { view.hidden = view.dataset.view !== choice.value; });
  choice.addEventListener("change", show);
  show();
});
