// Filtering; without a script the page shows every claim in the order of the sources.

const filter = document.getElementById("filter");
const table = document.getElementById("table");
const rows = [...table.querySelectorAll("tbody tr")].map((row) => {
  const details = document.getElementById(row.dataset.for); // null where it is on another page
  const text = row.textContent + " " + (details ? details.textContent : "");
  return { row, details, text: text.toLowerCase() };
});

const NAMES = ["source", "verdict", "kind", "change", "stands", "data", "size", "whose"];

function show() {
  const wanted = Object.fromEntries(new FormData(filter));
  const chosen = NAMES.filter((name) => wanted[name]);
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, details, text } of rows) {
    const fits = chosen.every((name) => row.dataset[name] === wanted[name])
      && words.every((word) => text.includes(word));
    row.hidden = !fits;
    if (details) details.hidden = !fits;
    shown += fits;
  }
  for (const body of table.tBodies) {
    const left = [...body.rows].filter((row) => !row.hidden).length;
    body.hidden = !left;
    body.style.setProperty("--rows", left);
  }
  document.getElementById("shown").textContent = `${shown} claim${shown === 1 ? "" : "s"}`;
}
filter.addEventListener("input", show);
filter.addEventListener("submit", (event) => event.preventDefault());
show();
addEventListener("pageshow", show); // a browser may have kept what was typed before
