// @vitest-environment jsdom
/** A diff is shown line by line, and replaces a call's input if it contains all of it. */
import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Ask, ToolPart } from '../../../src/protocol/generated';
import { groupLines } from '../../../src/views/controls/diff';
import { HostProvider } from '../../../src/views/host';
import { ToolCall } from '../../../src/views/parts/toolCall';
import { HOST } from '../../plainHost';

const DIFF = `--- a/notes.md
+++ b/notes.md
@@ -1,3 +1,3 @@
 kept
---gone
-gone too
+++come
\\ No newline at end of file
`;

const PART: ToolPart = {
  type: 'tool',
  id: 'prt_1',
  session_id: 'ses_1',
  message_id: 'msg_1',
  call_id: 'call_1',
  tool: 'write',
  pinned: false,
  state: {
    status: 'running',
    input: { path: 'notes.md', content: 'come' },
    time: { start: 1 },
    metadata: {}
  }
};

function asks(diff: string): void {
  const ask: Ask = {
    id: 'per_1',
    permission: 'write',
    patterns: ['notes.md'],
    always: ['*'],
    title: 'Edit notes.md',
    input: {},
    diff
  };
  render(
    <HostProvider value={HOST}>
      <ToolCall part={PART} ask={ask} isOver={false} isNewest />
    </HostProvider>
  );
}

describe('a difference', () => {
  it('is cut into runs of lines, also where a line looks like a head', () => {
    expect(groupLines(DIFF)).toEqual([
      { change: 'file', text: '--- a/notes.md\n+++ b/notes.md' },
      { change: 'place', text: '@@ -1,3 +1,3 @@' },
      { change: 'same', text: ' kept' },
      { change: 'removed', text: '---gone\n-gone too' },
      { change: 'added', text: '+++come' },
      { change: 'same', text: '\\ No newline at end of file' }
    ]);
  });

  it('tells the head of a second file from lines that look like one', () => {
    const first = '--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n--- a/y\n+++ b/y\n+z\n';

    expect(
      groupLines(
        `${first}--- a/w\n+++ b/w, moved\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+y\n`
      )
    ).toEqual([
      { change: 'file', text: '--- a/x\n+++ b/x' },
      { change: 'place', text: '@@ -1 +1,2 @@' },
      { change: 'removed', text: '--- a/y' },
      { change: 'added', text: '+++ b/y\n+z' },
      { change: 'file', text: '--- a/w\n+++ b/w, moved\n--- a/y\n+++ b/y' },
      { change: 'place', text: '@@ -0,0 +1 @@' },
      { change: 'added', text: '+y' }
    ]);
  });

  it('keeps every character but the last line end', () => {
    const said = groupLines(DIFF).map(({ text }) => text);

    expect(`${said.join('\n')}\n`).toBe(DIFF);
  });

  it('takes the place of the input that it tells', () => {
    asks(DIFF);

    expect(screen.getByText('+++come')).toBeTruthy();
    expect(screen.queryByLabelText('Input')).toBeNull();
  });

  it('leaves the input where it was too long to be made', () => {
    asks('--- notes.md\n+++ notes.md\n(too long to compare: 9 lines)\n');

    expect(screen.getByLabelText('Input')).toBeTruthy();
  });
});
