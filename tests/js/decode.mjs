// For tests/monitoring/test_log_text.py: a JSON list of lines as hex on stdin, what the page shows of each on stdout.
import { LineDecoder } from "panel/log_text";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const shown = JSON.parse(input).map((hex) => {
  const [line] = new LineDecoder(0, Infinity).push(new Uint8Array([...Buffer.from(hex, "hex"), 10]));
  return line.text;
});
process.stdout.write(JSON.stringify(shown));
