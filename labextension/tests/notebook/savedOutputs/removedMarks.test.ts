// @vitest-environment jsdom
/** The mark in a saved cell whose session no longer holds it. */
import { describe, expect, it } from 'vitest';
import { removedBundle } from '../../../src/notebook/savedOutputs/outputCompletion';
import { readSegment, SEGMENT_MIME } from '../../../src/protocol/segment';
import { displayedSegment } from '../../../src/state/display/liveSegment';
import { isRemoved } from '../../../src/state/session/reverts';
import { UNKNOWN_KERNEL } from '../../../src/state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import * as build from '../../builders';

const answer = build.assistant([build.text('Roses are red.')]);
const prompt = build.user([build.text('A poem')]);
const saved = {
  version: 1,
  session: 'ses_1',
  turn: prompt.info.id,
  seq: [2, 9],
  open: false,
  messages: [answer],
  start: [0, 0, '']
};
const entries = [prompt, answer].map(message => ({
  id: message.info.id,
  message
}));

function segment(more: object = {}) {
  const read = readSegment({ ...saved, ...more });
  if (read === null) {
    throw new Error('It is a segment.');
  }
  return read;
}

const head = build.sessionHead({ seq: 12 });

function session(more: object, partial = false) {
  return {
    head: { ...head, partial },
    transcript: { ...EMPTY_TRANSCRIPT, ...more }
  };
}

describe('an answer that its session no longer holds', () => {
  it('is removed when neither prompt nor answer is there', () => {
    expect(isRemoved(segment(), session({ seq: 12 }))).toBe(true);
    expect(isRemoved(segment(), session({ seq: 12, entries }))).toBe(false);
    const rest = entries.slice(0, 1);
    expect(isRemoved(segment(), session({ seq: 12, entries: rest }))).toBe(
      false
    );
  });

  it('is not removed where the page has not heard of it yet', () => {
    expect(isRemoved(segment(), session({ seq: 8 }))).toBe(false);
    const open = segment({ open: true });
    expect(isRemoved(open, session({ seq: 12 }))).toBe(false);
    const none = segment({ messages: [] });
    expect(isRemoved(none, session({ seq: 12 }))).toBe(false);
  });

  it('is not removed where what a summary stands for is not told', () => {
    expect(isRemoved(segment(), session({ seq: 12 }, true))).toBe(false);
    const older: Partial<typeof head> = { ...head };
    delete older.partial;
    const { transcript } = session({ seq: 12 });
    const untold = { head: older as typeof head, transcript };
    expect(isRemoved(segment(), untold)).toBe(false);
  });

  it('is drawn so, and is not where the session is not isLoaded', () => {
    const transcript = { ...EMPTY_TRANSCRIPT, seq: 12 };
    const view = (isLoaded: boolean) => ({
      ...UNKNOWN_KERNEL,
      link: 'ready' as const,
      sessions: new Map([['ses_1', { head, isLoaded, transcript }]])
    });

    expect(displayedSegment(segment(), view(true)).reverted).toBe('removed');
    expect(displayedSegment(segment(), view(false)).reverted).toBeUndefined();
  });

  it('says so in every form that is saved', () => {
    const data = removedBundle(
      {
        [SEGMENT_MIME]: saved as never,
        'text/markdown': ['Roses\n', 'are red.'],
        'text/plain': 'Roses are red.'
      },
      'Removed from the session'
    );

    expect(readSegment(data[SEGMENT_MIME])?.removed).toBe(true);
    expect(data['text/markdown']).toBe(
      '*Removed from the session*\n\nRoses\nare red.'
    );
    expect(data['text/plain']).toBe(
      'Removed from the session\n\nRoses are red.'
    );
  });
});
