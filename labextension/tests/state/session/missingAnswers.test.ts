/** Missing answers of a notebook, and the cells into which they are inserted. */
import { describe, expect, it } from 'vitest';
import type { Message, Origin } from '../../../src/protocol/generated';
import {
  missingAnswers,
  isAgentCell,
  targetCell,
  type ICellContents
} from '../../../src/state/session/missingAnswers';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import * as build from '../../builders';

const NOTEBOOK = 'a.ipynb';

function asked(cell: string, more: Partial<Origin> = {}): Message[] {
  const prompt = build.user([build.text('Draw it.')]);
  const origin: Origin = {
    kind: 'cell',
    cell_id: cell,
    execution_count: 3,
    notebook: NOTEBOOK,
    ...more
  };
  return [
    { ...prompt, info: { ...prompt.info, origin } as Message['info'] },
    build.assistant([build.text('Done.')])
  ];
}

function told(messages: Message[], more: Partial<ITranscript> = {}) {
  const session = { id: 'ses_1', notebook: NOTEBOOK };
  return {
    ...EMPTY_TRANSCRIPT,
    session: session as ITranscript['session'],
    entries: messages.map(message => ({
      id: message.info.id,
      message
    })) as ITranscript['entries'],
    ...more
  };
}

const cell = (
  id: string,
  more: Partial<ICellContents> = {}
): ICellContents => ({
  id,
  isAgentCell: true,
  source: '%%agent\nDraw it.',
  turnIds: [],
  hasNoOutputs: true,
  ...more
});

const idOf = (messages: Message[]) => messages[0]?.info.id ?? '';

describe('an answer is lost', () => {
  it('when its cell shows nothing of it, or is gone', () => {
    const value = asked('c1');
    const other = asked('c2');
    const found = missingAnswers(told([...value, ...other]), [cell('c1')]);

    expect([...found.keys()]).toEqual([idOf(value), idOf(other)]);
    expect(found.get(idOf(value))?.prompt).toBe('Draw it.');
  });

  it('not when a cell shows it, whichever that is', () => {
    const value = asked('c1');
    const shown = cell('moved', {
      turnIds: [idOf(value)],
      hasNoOutputs: false
    });

    expect(missingAnswers(told(value), [cell('c1'), shown]).size).toBe(0);
  });

  it('not when its cell asked again since', () => {
    const value = asked('c1');
    const again = asked('c1');
    const shown = cell('c1', { turnIds: [idOf(again)], hasNoOutputs: false });

    expect(missingAnswers(told([...value, ...again]), [shown]).size).toBe(0);
    expect([
      ...missingAnswers(told([...value, ...again]), [cell('c1')]).keys()
    ]).toEqual([idOf(again)]);
  });

  it('not while it is written, nor what its cell had said before', () => {
    const messages = [...asked('c1'), ...asked('c1')];
    const status = { type: 'busy' as const };

    expect(missingAnswers(told(messages, { status }), [cell('c1')]).size).toBe(
      0
    );
    expect(
      missingAnswers(told(messages.slice(0, 3), { status }), [cell('c1')]).size
    ).toBe(0);
  });

  it('not when it was asked in the panel, or in another notebook', () => {
    const inPanel = asked('c1', { kind: 'panel' });
    const elsewhere = asked('c2', { notebook: 'b.ipynb' });

    expect(missingAnswers(told([...inPanel, ...elsewhere]), []).size).toBe(0);
  });
});

describe('it goes back', () => {
  const value = { turnId: 'm', cellId: 'c1', prompt: 'Draw it.' };

  it('into its cell, or below what stands there now, or to the end', () => {
    const other = cell('c2', { source: '1', isAgentCell: false });
    const changed = cell('c1', { source: 'x = 1', isAgentCell: false });

    expect(targetCell(value, [other, cell('c1')])).toEqual({
      index: 1,
      isNew: false
    });
    expect(targetCell(value, [changed, other])).toEqual({
      index: 1,
      isNew: true
    });
    expect(targetCell(value, [null, other])).toEqual({ index: 2, isNew: true });
  });

  it('into an empty cell with these words, where names do not last', () => {
    const full = cell('n1', { hasNoOutputs: false });

    expect(targetCell(value, [full, cell('n2')])).toEqual({
      index: 1,
      isNew: false
    });
  });

  it('never into a cell that does something else', () => {
    expect(['', '%%agent -y\nGo', '%%time\n%agent Go'].every(isAgentCell)).toBe(
      true
    );
    expect(isAgentCell('x = 1')).toBe(false);
  });
});
