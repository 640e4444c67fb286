/** What a page knows of where a cell's source came from. */
import { describe, expect, it } from 'vitest';
import type { MadeChange } from '../../../src/protocol/generated';
import { originDetails } from '../../../src/state/display/originDetails';
import {
  UNKNOWN_KERNEL,
  type IKernelView
} from '../../../src/state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import * as build from '../../builders';

/** A page that has a session in which a call changed cell `c`. */
function page(prompt: string, change: Partial<MadeChange> | string) {
  const part = build.ran('cells', {}, 'Done.');
  const metadata = { cells: typeof change === 'string' ? change : [change] };
  const answer = build.assistant([
    { ...part, state: { ...part.state, metadata } } as typeof part
  ]);
  const asked = build.user([build.text(prompt)]);
  const entries = [asked, answer].map(message => ({
    id: message.info.id,
    message
  }));
  const session = {
    head: build.sessionHead(),
    transcript: { ...EMPTY_TRANSCRIPT, entries },
    isLoaded: true
  };
  const view: IKernelView = {
    ...UNKNOWN_KERNEL,
    sessions: new Map([['ses_1', session]])
  };
  const origin = {
    session: 'ses_1',
    message: answer.info.id,
    call: part.call_id
  };
  return { view, origin, turn: asked.info.id };
}

describe('the origin of a cell', () => {
  it.each([
    ['person', { state: 'accepted', by: 'person' }],
    ['setting', { state: 'accepted', by: '--yes' }],
    ['nobody', { state: 'open', by: '' }],
    [null, { state: 'rejected', by: 'person' }]
  ] as const)('was approved by %s', (reviewer, change) => {
    const { view, origin, turn } = page('Write it.', { cell: 'c', ...change });

    expect(originDetails(view, origin, 'c')).toEqual({
      turnKey: turn,
      promptBeginning: 'Write it.',
      reviewer
    });
    expect(originDetails(view, origin, 'other').reviewer).toBeNull();
  });

  it('is one short line without characters that turn its order', () => {
    const { view, origin } = page(`a\n\u202Eb${'😀'.repeat(80)}`, '[left out]');
    const { promptBeginning, reviewer } = originDetails(view, origin, 'c');

    expect(promptBeginning).toBe(`a··b${'😀'.repeat(55)}…`);
    expect(reviewer).toBeNull();
  });

  it('is not known of a session that is not loaded, or of another message', () => {
    const { view, origin } = page('Write it.', '');
    const unknown = { turnKey: null, promptBeginning: '', reviewer: null };

    expect(originDetails(UNKNOWN_KERNEL, origin, 'c')).toEqual(unknown);
    expect(originDetails(view, { ...origin, message: 'no' }, 'c')).toEqual(
      unknown
    );
  });
});
