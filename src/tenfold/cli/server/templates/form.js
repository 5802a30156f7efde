const form = document.querySelector("form"), answer = document.querySelector("#answer");
const value = field => {
  if (field.value === "") return null;
  return field.type === "number" ? Number(field.value) : field.value;
};
const row = () => {
  const whole = form.querySelector("textarea");
  if (whole) return JSON.parse(whole.value);
  return Object.fromEntries([...form.querySelectorAll("input")].map(f => [f.name, value(f)]));
};
const show = found => {
  answer.replaceChildren();
  const best = document.createElement("strong");
  best.textContent = String(found.prediction);
  answer.append(best);
  const ends = (found.interval ?? []).map(end => end.toPrecision(5));
  if (ends.length) answer.append("between " + ends.join(" and "));
  for (const [name, share] of Object.entries(found.probabilities ?? {}).sort((a, b) => b[1] - a[1]))
    answer.append(name + "  " + (100 * share).toFixed(1) + " %\n");
};
form.addEventListener("submit", async event => {
  event.preventDefault();
  try {
    const reply = await fetch("/predict", { method: "POST",
      headers: { "Content-Type": "application/json" }, body: JSON.stringify({ rows: [row()] }) });
    const found = await reply.json();
    if (reply.ok) show(found.predictions[0]); else answer.textContent = found.error;
  } catch (problem) { answer.textContent = String(problem); }
});
