/**
 * How a session stands: how full the window is, what it cost, what waits for a person.
 */
import type { Ask } from '../protocol/generated';
import type { ITranscript } from './transcript';

export interface IFilled {
  used: number;
  window: number;
}

/** Returns how full the window was at the newest request; null before the first. */
export function filled({ places }: ITranscript): IFilled | null {
  for (const { message } of places.toReversed()) {
    for (const part of message.parts.toReversed()) {
      if (
        part.type === 'step-finish' &&
        part.context_tokens !== undefined &&
        part.window !== undefined
      ) {
        return { used: part.context_tokens, window: part.window };
      }
    }
  }
  return null;
}

/** Returns the questions whose tool call is not in the transcript, such as those of a sub-agent. */
export function strayAsks({ asks, places }: ITranscript): Ask[] {
  const calls = new Set(
    asks.length === 0
      ? []
      : places.flatMap(({ message }) =>
          message.parts.flatMap(part =>
            part.type === 'tool' ? [part.call_id] : []
          )
        )
  );
  return asks.filter(
    ({ call_id }) => call_id === undefined || !calls.has(call_id)
  );
}

/** Tells whether a turn runs, or is about to. */
export function isBusy({ status }: ITranscript): boolean {
  return status.type !== 'idle';
}
