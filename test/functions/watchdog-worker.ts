// A worker under a watchdog of half a second: `spin` never lets its event loop turn again, `live` does for two seconds.
import { startWatchdog } from "../../functions/watchdog.ts";

const watchdog = startWatchdog(500);
watchdog.working("something that was done")();
const done = watchdog.working('ticks {"runId":"r1"}');
console.log("working");
if (process.argv[2] === "spin") {
  setTimeout(() => {
    for (;;);
  }, 100);
} else {
  setTimeout(async () => {
    done();
    await watchdog.stop();
    console.log("done");
  }, 2_000);
}
