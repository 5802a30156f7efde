// The player of a film: its frames are groups of one drawing, of which one is shown.
addEventListener("DOMContentLoaded", () => {
  const captions = JSON.parse(document.getElementById("film-data").textContent);
  const frames = [...document.querySelectorAll("svg.film .frame")];
  const [button, slider, caption] = ["film-play", "film-step", "film-caption"]
    .map((id) => document.getElementById(id));
  const pause = Math.min(600, Math.max(25, 10000 / frames.length));  // milliseconds of a frame
  let timer = null;

  const show = (step) => {
    frames.forEach((frame, number) => frame.classList.toggle("shown", number === step));
    slider.value = step;
    caption.textContent = captions[step];
  };
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "Play"; };
  const next = () => {
    const step = Number(slider.value) + 1;
    if (step >= frames.length) stop(); else show(step);
  };
  button.addEventListener("click", () => {
    if (timer !== null) { stop(); return; }
    if (Number(slider.value) >= frames.length - 1) show(0);
    button.textContent = "Pause";
    timer = setInterval(next, pause);
  });
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  show(0);
});
