import { describe, expect, test } from "@jest/globals";
import { type Delta, eventReader, heard, recorded, SILENCE } from "../../../console/model/event-stream.ts";

describe("server-sent events", () => {
  test("are read however they are cut", () => {
    const text =
      ': a comment\n\nid: 7\nevent: LlmCallStarted\ndata: {"a":1}\n\nevent: delta\r\ndata: x\r\ndata: y\r\n\r\n';
    const whole = eventReader()(text);
    expect(whole).toEqual([
      { name: "LlmCallStarted", id: "7", data: '{"a":1}' },
      { name: "delta", id: null, data: "x\ny" },
    ]);
    for (let at = 1; at < text.length; at++) {
      const read = eventReader();
      if (text[at - 1] === "\r") continue; // a line's end is sent as one
      expect([...read(text.slice(0, at)), ...read(text.slice(at))]).toEqual(whole);
    }
    expect(eventReader()("data: not whole yet\n")).toEqual([]);
  });
});

const delta = (more: Partial<Delta>): Delta => ({
  stream: "task:w0t0",
  call: 2,
  attempt: 0,
  type: "text",
  at: 0,
  text: "",
  ...more,
});

describe("what a model says while it says it", () => {
  test("is put together; what comes twice changes nothing, and behind a gap the record is waited for", () => {
    const one = heard(SILENCE, delta({ text: "Two " }));
    const two = heard(one, delta({ at: 4, text: "reasons" }));
    expect(two.text).toBe("Two reasons");
    expect(heard(two, delta({ text: "Two " }))).toEqual(two);
    expect(heard(two, delta({ at: 2, text: "o reasons more" })).text).toBe("Two reasons more");
    expect(heard(two, delta({ at: 50, text: "late" }))).toEqual(two);
    expect(heard(two, delta({ type: "reasoning", text: "hm" }))).toMatchObject({
      text: "Two reasons",
      reasoning: "hm",
    });
  });

  test("begins anew with another call, another try and a restart; older ones are dropped", () => {
    const said = heard(SILENCE, delta({ text: "old" }));
    expect(heard(said, delta({ call: 9, text: "new" }))).toMatchObject({ call: 9, text: "new" });
    expect(heard(said, delta({ attempt: 1, text: "again" })).text).toBe("again");
    expect(heard(said, delta({ type: "restart" })).text).toBe("");
    expect(heard(said, delta({ call: 1, text: "older" }))).toEqual(said);
  });

  test("is replaced by the record, also by pieces that come after it", () => {
    const over = recorded(heard(SILENCE, delta({ text: "said" })), 2);
    expect(over.text).toBe("");
    expect(heard(over, delta({ at: 0, text: "late" })).text).toBe("");
    expect(heard(over, delta({ call: 5, text: "next" })).text).toBe("next");
    expect(recorded(heard(SILENCE, delta({ call: 5, text: "next" })), 2).text).toBe("next");
  });
});
