import { readArguments, usage } from "./attack/arguments.mjs";
import { battery, chosen } from "./attack/battery.mjs";
import { createReport, listOf } from "./attack/report.mjs";
import { runOverHttp } from "./attack/run-http.mjs";
import { runOverStdio } from "./attack/run-stdio.mjs";
import { isHere } from "./attack/target.mjs";

// Tries known attacks on a server that its user names. It sends what an attacker would, without the library, so that
// it says the same of every server.

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  return 2;
});

async function main(words) {
  const options = readArguments(words);
  if (options.help) return print(usage());
  const over = options.url === undefined ? "stdio" : "http";
  const attacks = chosen(battery, options);
  if (options.list) return print(options.json ? JSON.stringify(attacks, undefined, 2) : listOf(attacks));
  if (options.url === undefined && options.command.length === 0)
    throw new Error(`name a URL or a command\n\n${usage()}`);
  for (const url of [options.url, options.secondUrl].filter(Boolean)) {
    if (!isHere(url) && !options.remote) {
      throw new Error(`${url} is not on this machine; --remote allows it, if whoever runs it agrees`);
    }
  }
  const report = createReport(options);
  const fitting = attacks.filter((attack) => attack.over.includes(over));
  const results = await (over === "http" ? runOverHttp : runOverStdio)(fitting, options, report.tell);
  return report.end(results);
}

function print(text) {
  console.log(text);
  return 0;
}
