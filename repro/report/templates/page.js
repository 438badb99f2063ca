"use strict";
// Filtering; without a script the page shows every claim in the order of the sources.

const filter = document.getElementById("filter");
const rows = [...document.querySelectorAll("#table tbody tr")].map((row) => {
  const details = document.getElementById(row.dataset.for);
  return { row, details, text: (row.textContent + " " + details.textContent).toLowerCase() };
});

const NAMES = ["source", "verdict", "kind", "change", "data", "size", "whose"];

function show() {
  const wanted = Object.fromEntries(new FormData(filter));
  const chosen = NAMES.filter((name) => wanted[name]);
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, details, text } of rows) {
    const fits = chosen.every((name) => row.dataset[name] === wanted[name])
      && words.every((word) => text.includes(word));
    row.hidden = details.hidden = !fits;
    shown += fits;
  }
  document.getElementById("shown").textContent = `${shown} claim${shown === 1 ? "" : "s"}`;
}
filter.addEventListener("input", show);
filter.addEventListener("submit", (event) => event.preventDefault());
show();
addEventListener("pageshow", show); // a browser may have kept what was typed before

// Tables that sort, claims that open by their address, and pages that print in full.

const NUMBERS = new Intl.Collator("en", { numeric: true });

function sort(button) {
  const head = button.closest("th");
  const table = head.closest("table");
  const falling = head.getAttribute("aria-sort") === "ascending";
  const value = (row) => {
    const cell = row.cells[head.cellIndex];
    if (!("numeric" in button.dataset)) return cell.textContent;
    return cell.dataset.n === undefined ? null : Number(cell.dataset.n);
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null); // those without, last
    const order = typeof a === "number" ? a - b : NUMBERS.compare(a, b);
    return falling ? -order : order;
  };
  const sorted = [...table.tBodies[0].rows].map((row) => [value(row), row]);
  sorted.sort(([a], [b]) => compare(a, b));
  table.tBodies[0].replaceChildren(...sorted.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button));
}

function open() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", open);
open();

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open], .values, [hidden])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
