/** How many lines a call's diff adds and removes. */
import { expect, it } from 'vitest';
import { changedLines } from '../../../src/state/display/toolCalls';
import { ran } from '../../builders';

const ONE =
  '--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n same\n--- old\n+++ new\n+more\n';
const NEW =
  '--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n';

function counted(diff: string): string {
  const call = ran('write', { path: 'x' }, 'Written.');
  if (call.state.status === 'completed') {
    call.state.metadata = { diff };
  }
  return changedLines(call);
}

it.each([
  ['what looks like a head inside a hunk', ONE, '+2 −1'],
  ['several files', ONE + NEW, '+3 −1'],
  ['no diff', '', ''],
  ['a diff that is kept in part', `${ONE}\n(cut here)\n`, '']
])('%s', (_name, diff, shown) => {
  expect(counted(diff)).toBe(shown);
});
