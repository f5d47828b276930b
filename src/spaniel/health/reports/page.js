"use strict";
const rows = [...document.querySelectorAll("tbody tr")];
const boxes = [...document.querySelectorAll(".filters input[type=checkbox]")];
const words = document.querySelector(".filters input[type=search]");
const empty = document.querySelector(".empty");
const texts = rows.map((row) => row.textContent.toLowerCase());
function filter() {
  const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  rows.forEach((row, index) => {
    const kinds = row.dataset.kinds.split(" ");
    const visible = kinds.some((kind) => wanted.has(kind)) && asked.every((word) => texts[index].includes(word));
    row.hidden = !visible;
    left += visible;
  });
  empty.hidden = left > 0;
}
boxes.forEach((box) => box.addEventListener("change", filter));
words.addEventListener("input", filter);
document.querySelector(".filters").hidden = false;
filter();
