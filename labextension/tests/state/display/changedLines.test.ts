/** How many lines a call's diff adds and removes, and whether this is all that its turn did to files. */
import { expect, it } from 'vitest';
import type { FileDiff } from '../../../src/protocol/generated';
import {
  changedLineCounts,
  isCoveredByCall
} from '../../../src/state/lines/toolCalls';
import { assistant, ran } from '../../builders';

const ONE =
  '--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n same\n--- old\n+++ new\n+more\n';
const NEW =
  '--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n';

function wrote(diff: string) {
  const call = ran('write', { path: 'x' }, 'Written.');
  if (call.state.status === 'completed') {
    call.state.metadata = { diff };
    call.state.title = 'x';
  }
  return call;
}

function counted(diff: string): string {
  return changedLineCounts(wrote(diff));
}

it.each([
  ['what looks like a head inside a hunk', ONE, '+2 −1'],
  ['several files', ONE + NEW, '+3 −1'],
  ['no diff', '', ''],
  ['a diff that is kept in part', `${ONE}\n(cut here)\n`, '']
])('%s', (_name, diff, shown) => {
  expect(counted(diff)).toBe(shown);
});

const CHANGE: FileDiff = {
  file: 'x',
  status: 'modified',
  additions: 2,
  deletions: 1
};

it.each([
  ['one file that one call changed', [CHANGE], [ONE], true],
  ['a file that two calls changed', [CHANGE], [ONE, NEW], false],
  ['what no call tells, such as the agent’s own code', [CHANGE], [], false],
  ['more than the call tells', [{ ...CHANGE, additions: 3 }], [ONE], false],
  ['another file', [{ ...CHANGE, file: 'y' }], [ONE], false],
  ['several files', [CHANGE, { ...CHANGE, file: 'y' }], [ONE], false],
  ['what has a note of its own', [{ ...CHANGE, note: 'cut' }], [ONE], false]
])('%s', (_name, changes, diffs, told) => {
  const messages = [assistant(diffs.map(wrote))];
  expect(isCoveredByCall(changes, messages)).toBe(told);
});
