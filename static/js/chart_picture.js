// A chart as a PNG file, with its title and legend.

const [MARGIN, HEAD, LINE] = [16, 28, 18]; // pixels

/** `keys`: the legend's elements, as they stand on the page. */
export function savePicture(drawn, { title, keys, paint }) {
  if (!drawn) return;
  const ratio = devicePixelRatio;
  const rows = keys.filter((key) => key.textContent.trim());
  const canvas = document.createElement("canvas");
  canvas.width = drawn.width + 2 * MARGIN * ratio;
  canvas.height = drawn.height + (2 * MARGIN + HEAD + rows.length * LINE) * ratio;
  const ctx = canvas.getContext("2d");
  ctx.fillStyle = paint("--raised");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = paint("--text");
  ctx.font = "600 14px Inter Variable, sans-serif";
  ctx.fillText(title, MARGIN, MARGIN + 12);
  ctx.font = "12px Inter Variable, sans-serif";
  rows.forEach((key, number) => {
    const y = MARGIN + HEAD + number * LINE;
    ctx.fillStyle = paint(`--series-${key.dataset.key}`);
    ctx.fillRect(MARGIN, y - 1, 10, 3);
    ctx.fillStyle = paint("--text");
    ctx.fillText([...key.children].map(({ textContent }) => textContent).join("  "), MARGIN + 16, y + 4);
  });
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.drawImage(drawn, MARGIN * ratio, (MARGIN + HEAD + rows.length * LINE) * ratio);
  canvas.toBlob((blob) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `${title.replaceAll(/[^\w.-]+/g, "-")}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}
