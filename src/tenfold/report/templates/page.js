// Optional: theme switch, sortable tables, tooltips and copy buttons. The page works without it.
(() => {
  const root = document.documentElement;
  const asked = location.hash.match(/^#(light|dark)$/);
  const keep = (theme) => { try { localStorage.setItem("tenfold-theme", theme); } catch { /* private */ } };
  const kept = () => { try { return localStorage.getItem("tenfold-theme"); } catch { return null; } };
  root.classList.add("js");
  const theme = asked ? asked[1] : kept();
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;

  addEventListener("DOMContentLoaded", () => {
    const dark = () => root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const button = document.getElementById("theme");
    const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark"; keep(root.dataset.theme); label();
    });
    label();

    for (const head of document.querySelectorAll("th[data-sort]")) {
      head.tabIndex = 0;
      const sort = () => {
        const body = head.closest("table").tBodies[0], place = head.cellIndex;
        const down = head.getAttribute("aria-sort") !== "descending";
        const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
        const number = (text) => (text === "" || isNaN(text) ? null : Number(text));
        const order = (a, b) => {
          const [x, y] = [value(a), value(b)], [m, n] = [number(x), number(y)];
          return m !== null && n !== null ? m - n : x.localeCompare(y);
        };
        const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * order(a, b));
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...rows);
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    }

    const tip = document.getElementById("tip");
    addEventListener("pointermove", (event) => {
      const over = event.target.closest?.("[data-tip]");
      tip.classList.toggle("seen", !!over);
      if (!over) return;
      tip.textContent = over.dataset.tip;
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      const above = event.clientY + 18 + tip.offsetHeight > innerHeight;
      tip.style.left = `${left}px`;
      tip.style.top = `${above ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
    });

    for (const copy of document.querySelectorAll(".copy")) {
      copy.addEventListener("click", async () => {
        const text = copy.closest("div").querySelector("pre").textContent;
        try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; }
        catch { getSelection().selectAllChildren(copy.closest("div").querySelector("pre")); }
        setTimeout(() => { copy.textContent = "Copy"; }, 1600);
      });
    }

    const links = [...document.querySelectorAll("nav.contents a")];
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links) link.classList.toggle("here", link.hash === `#${entry.target.id}`);
      }
    }, { rootMargin: "-20% 0px -70% 0px" });
    document.querySelectorAll("section[id]").forEach((part) => seen.observe(part));
  });
})();
