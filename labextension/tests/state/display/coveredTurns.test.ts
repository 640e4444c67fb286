/** What a compaction covers is found at its newest turn. */
import { describe, expect, it } from 'vitest';
import type { CompactionPart, Message } from '../../../src/protocol/generated';
import { newestCoveredPlace } from '../../../src/state/display/coveredTurns';
import { turnsOf } from '../../../src/state/display/turns';
import * as build from '../../builders';

function mark(message: Message, tail?: Message): CompactionPart {
  return {
    id: 'prt_mark',
    session_id: 'ses_1',
    message_id: message.info.id,
    type: 'compaction',
    auto: false,
    overflow: false,
    goes_on: false,
    ...(tail && { tail_start_id: tail.info.id })
  };
}

describe('the newest covered turn', () => {
  const call = build.ran('read', {}, 'rows');
  const [first, looks, second, says, marker] = [
    build.user([build.text('How many?')]),
    build.assistant([call]),
    build.user([build.text('And now?')]),
    build.assistant([build.text('Four.')]),
    build.user([])
  ] as const;
  const all = turnsOf({
    entries: [first, looks, second, says, marker].map(message => ({
      id: message.info.id,
      message
    }))
  });

  it.each([
    ['is the one before the tail, at its first call', second, first, call.id],
    ['is the one in which the tail begins', says, second, second.info.id],
    [
      'is the last one where there is no tail',
      undefined,
      second,
      second.info.id
    ]
  ])('%s', (_name, tail, turn, line) => {
    expect(newestCoveredPlace(all, mark(marker, tail))).toEqual({
      turnKey: turn.info.id,
      lineKey: line,
      isScrolledTo: true
    });
  });

  it('is found from the summary alone, which a cell shows', () => {
    const asked = build.user([]);
    asked.parts = [mark(asked, second)];
    const summary = build.assistant([build.text('We looked.')]);
    if (summary.info.role === 'assistant') {
      summary.info.parent_id = asked.info.id;
    }
    const whole = turnsOf({
      entries: [first, looks, second, says, asked, summary].map(message => ({
        id: message.info.id,
        message
      }))
    });

    expect(newestCoveredPlace(whole, mark(summary))?.turnKey).toBe(
      first.info.id
    );
  });

  it('is unknown where the session does not hold the compaction', () => {
    const other = build.user([build.text('Elsewhere')]);

    expect(newestCoveredPlace(all, mark(other))).toBeNull();
  });
});
