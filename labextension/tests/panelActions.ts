/** Mock actions of the panel: functions that record their calls and return empty results. */
import { vi, type Mock } from 'vitest';
import type { IPanelActions } from '../src/views/actions/panel';

type Mocked<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? Mock<(...args: A) => R>
    : never;
};

export type MockedActions = {
  [G in keyof IPanelActions]: Mocked<IPanelActions[G]>;
};

const nothing = () => Promise.resolve('');
const none = () => Promise.resolve({});

export function answers(): MockedActions['answers'] {
  return { reply: vi.fn(), answer: vi.fn() };
}

export function cells(): MockedActions['cells'] {
  return {
    insertBelow: vi.fn(nothing),
    replace: vi.fn(nothing),
    run: vi.fn(nothing),
    focus: vi.fn(nothing)
  };
}

export function cellReviews(): MockedActions['cellReviews'] {
  return { decide: vi.fn(nothing), takeBack: vi.fn(), show: vi.fn() };
}

export function turn(): MockedActions['turn'] {
  return {
    stop: vi.fn(),
    retry: vi.fn(nothing),
    retryTurn: vi.fn(nothing)
  };
}

export function prompts(): MockedActions['prompts'] {
  return {
    send: vi.fn(() => Promise.resolve(null)),
    replace: vi.fn(() => Promise.resolve(null)),
    sendNow: vi.fn(),
    withdraw: vi.fn(() => Promise.resolve(true)),
    choices: vi.fn(() => Promise.resolve(null)),
    operations: vi.fn(() => Promise.resolve(null)),
    commandArguments: vi.fn(() => Promise.resolve([])),
    operate: vi.fn(nothing),
    history: vi.fn(() => Promise.resolve(null)),
    mentions: vi.fn(() => Promise.resolve(null)),
    attach: vi.fn(() => Promise.resolve('It is not attached.')),
    previews: vi.fn(() => Promise.resolve([]))
  };
}

export function contextEdits(): MockedActions['contextEdits'] {
  return { edit: vi.fn(nothing) };
}

export function heldRequests(): MockedActions['heldRequests'] {
  return {
    release: vi.fn(),
    askForAnotherSummary: vi.fn(nothing),
    useOlderSummary: vi.fn(nothing),
    changeNumber: vi.fn(nothing),
    changeLimit: vi.fn(nothing),
    setStepMode: vi.fn()
  };
}

export function reverts(): MockedActions['reverts'] {
  return {
    preview: vi.fn(none),
    revert: vi.fn(none),
    unrevert: vi.fn(none),
    cleanup: vi.fn(none)
  };
}

export function sessions(): MockedActions['sessions'] {
  return {
    list: vi.fn(() => Promise.resolve({ rows: [], total: 0 })),
    create: vi.fn(),
    fork: vi.fn(),
    branches: vi.fn(nothing),
    rename: vi.fn(nothing),
    archive: vi.fn(nothing),
    delete: vi.fn(nothing)
  };
}

export function sharing(): MockedActions['sharing'] {
  return {
    share: vi.fn(none),
    unshare: vi.fn(none),
    export: vi.fn(none),
    import: vi.fn(none),
    stopImport: vi.fn(() => Promise.resolve())
  };
}

export function permissions(): MockedActions['permissions'] {
  return {
    setMode: vi.fn(),
    approvals: vi.fn(() => Promise.resolve([])),
    revoke: vi.fn(() => Promise.resolve([])),
    trustProject: vi.fn(() => Promise.resolve())
  };
}

/** Returns all groups of actions; the given ones replace the defaults. */
export function panelActions(more: Partial<MockedActions> = {}): MockedActions {
  return {
    answers: answers(),
    cells: cells(),
    cellReviews: cellReviews(),
    compaction: { compact: vi.fn() },
    contextEdits: contextEdits(),
    heldRequests: heldRequests(),
    kernel: { load: vi.fn(), chooseKernel: vi.fn(), restart: vi.fn() },
    notebook: {
      focus: vi.fn(),
      showCell: vi.fn(),
      mentionOf: vi.fn((path: string) => path),
      readFile: vi.fn(() => Promise.resolve('')),
      insertAnswer: vi.fn(nothing)
    },
    opener: { open: vi.fn() },
    permissions: permissions(),
    pictures: { load: vi.fn(nothing) },
    prompts: prompts(),
    reverts: reverts(),
    sessions: sessions(),
    sharing: sharing(),
    turn: turn(),
    ...more
  };
}
