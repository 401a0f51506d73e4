// Says what a person would have seen when a test in the browser fails: a time-out alone says only what wasn't there.
import { TestEnvironment } from "jest-environment-node";

export default class BrowserEnvironment extends TestEnvironment {
  async handleTestEvent(event) {
    if (event.name === "test_fn_failure") await this.global.whenTestFails?.(event.test.name);
  }
}
