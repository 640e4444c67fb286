// @vitest-environment jsdom
/** The kernels of recorded files that pages left behind end; no other does. */
import type { Session } from '@jupyterlab/services';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  endLeftKernels,
  KEPT_MS,
  LOOK_MS
} from '../../src/inspector/kernels/leftKernels';
import {
  isOfRecording,
  recordingSession
} from '../../src/inspector/kernels/recordingSession';

const FILE = 'recordings/pi.jsonl';

function session(
  id: string,
  connections: number | undefined,
  change: Partial<Session.IModel> = {}
): Session.IModel {
  return {
    ...recordingSession(FILE),
    id,
    kernel: { id: `kernel of ${id}`, name: 'python3', connections },
    ...change
  };
}

/** A server with these sessions; `away` has it answer nothing. */
function server(...models: Session.IModel[]) {
  const state = { models, away: false };
  const shutdown = vi.fn((id: string) => {
    state.models = state.models.filter(model => model.id !== id);
    return Promise.resolve();
  });
  const sessions = {
    refreshRunning: () =>
      state.away ? Promise.reject(new Error('away')) : Promise.resolve(),
    running: () => state.models.values(),
    shutdown
  } as unknown as Session.IManager;
  return { state, shutdown, sessions };
}

const pass = (milliseconds: number) =>
  vi.advanceTimersByTimeAsync(milliseconds);

let stop: () => void = () => undefined;
beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

describe('the kernel of a recorded file', () => {
  it('ends five minutes after the last page that had it', async () => {
    const { state, shutdown, sessions } = server(session('a', 1));
    stop = endLeftKernels(sessions);
    await pass(2 * KEPT_MS);
    expect(shutdown).not.toHaveBeenCalled();

    state.models = [session('a', 0)];
    await pass(KEPT_MS - LOOK_MS);
    expect(shutdown).not.toHaveBeenCalled();
    await pass(LOOK_MS);

    expect(shutdown.mock.calls).toEqual([['a']]);
    expect(localStorage.length).toBe(0);
  });

  it('ends at the start of a page where it was left long before', async () => {
    const { shutdown, sessions } = server(session('a', 0));
    stop = endLeftKernels(sessions);
    await pass(LOOK_MS);
    stop();
    await pass(KEPT_MS);
    expect(shutdown).not.toHaveBeenCalled();

    stop = endLeftKernels(sessions);
    await pass(0);

    expect(shutdown.mock.calls).toEqual([['a']]);
  });

  it('stays where a page has it again, and where the computer slept', async () => {
    const { state, shutdown, sessions } = server(session('a', 0));
    stop = endLeftKernels(sessions);
    await pass(KEPT_MS - LOOK_MS);
    state.models = [session('a', 1)];
    await pass(LOOK_MS);
    state.models = [session('a', 0)];
    await pass(KEPT_MS - LOOK_MS);
    vi.setSystemTime(Date.now() + 10 * KEPT_MS);
    await pass(LOOK_MS);

    expect(shutdown).not.toHaveBeenCalled();
    await pass(KEPT_MS);
    expect(shutdown).toHaveBeenCalledTimes(1);
  });

  it('is looked for again where the server was away', async () => {
    const { state, shutdown, sessions } = server(session('a', 0));
    stop = endLeftKernels(sessions);
    await pass(KEPT_MS - LOOK_MS);
    state.away = true;
    await pass(2 * LOOK_MS);
    expect(shutdown).not.toHaveBeenCalled();
    state.away = false;
    await pass(LOOK_MS);

    expect(shutdown).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['a notebook', { type: 'notebook' }],
    ['a console of the file', { type: 'console' }],
    ['a file that is only called so', { name: 'other.jsonl' }],
    ['the file itself', { path: FILE }]
  ])('is not that of %s', async (_, change) => {
    const other = session('a', 0, change);
    const { shutdown, sessions } = server(other);
    stop = endLeftKernels(sessions);
    await pass(3 * KEPT_MS);

    expect(isOfRecording(other)).toBe(false);
    expect(shutdown).not.toHaveBeenCalled();
  });

  it('stays where the server does not count connections', async () => {
    const { shutdown, sessions } = server(session('a', undefined));
    stop = endLeftKernels(sessions);
    await pass(3 * KEPT_MS);

    expect(shutdown).not.toHaveBeenCalled();
  });
});
