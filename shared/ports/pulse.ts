// The guardian's pulse where nothing runs by itself: a message that has the next one sent, for as long as there is anything to look at soon. A laptop has a
// timer in its process instead. Adapter: adapters/pulse/postgres.ts.
export interface Pulse {
  /** Whether anything of these agents will be due within PULSE_HORIZON_MS: a live lease, a ready stream, a timer. */
  soon(agents: readonly string[]): Promise<boolean>;
  /** For how long the work of these agents that waits longest has waited, in milliseconds; 0: nothing waits. */
  oldestReadyMs(agents: readonly string[]): Promise<number>;
  /**
   * Takes up a beat: the pulse rests until it is started. False: it isn't the beat that is awaited, so its message is a double, and nothing follows from it.
   */
  rest(beat: number): Promise<boolean>;
  /** Starts a pulse that rests or was lost: the beat whose message is to be sent now, delayed by PULSE_MS. Null: it goes already. */
  start(): Promise<number | null>;
  /** Runs `pass` unless somebody else does; null then. Its end is noted for people to look at. */
  alone<T>(pass: () => Promise<T>): Promise<T | null>;
}
