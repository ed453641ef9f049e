#!/usr/bin/env node
import { ownInfo } from "../protocol/own-info.ts";

const argv = process.argv.slice(2);

// What needs nothing loads nothing.
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) process.stdout.write(`${ownInfo.version}\n`);
else await (await import("./frame/run-process.ts")).runProcess(argv);
