/** A unified diff, as shown in a permission question. */
import { useMemo } from 'react';
import { lineDiff } from '../../state/text/lineDiff';
import { visibleText } from '../../state/text/visibleText';
import { ASKED_TEXT, TEXT_END } from '../dom/endSeen';
import { useHost } from '../host';

type Change = 'added' | 'removed' | 'place' | 'file' | 'same';

interface IDiffGroup {
  change: Change;
  text: string;
}

/** Draws a unified diff; the sign at the start of each line means the same as its colour. */
export function Diff({ text }: { text: string }) {
  const { words } = useHost();
  const groups = useMemo(() => groupLines(text), [text]);
  return (
    <pre
      className="plm-Diff"
      role="group"
      aria-label={words.__('What it would change')}
      // A long diff scrolls, and must be readable by keyboard before an answer.
      tabIndex={0}
      {...{ [ASKED_TEXT]: '' }}
    >
      {groups.map(({ change, text }, index) => (
        <span key={index} data-change={change}>
          {visibleText(text)}
        </span>
      ))}
      <TextEnd />
    </pre>
  );
}

/** Draws how a text differs from the one before; a sentence where it does not. */
export function TextDifference(props: {
  before: string;
  after: string;
  sameText: string;
}) {
  const { before, after, sameText } = props;
  const diff = useMemo(() => lineDiff(before, after), [before, after]);
  return diff === '' ? (
    <p className="plm-Muted">{sameText}</p>
  ) : (
    <Diff text={diff} />
  );
}

/** Draws the end of a text that a question is about: no content, but visible as soon as the last line is. */
export function TextEnd() {
  return (
    <span className="plm-TextEnd" aria-hidden="true" {...{ [TEXT_END]: '' }} />
  );
}

/** Returns whether a diff contains the changes; one that was too long only counts lines. */
export function containsChanges(diff: string): boolean {
  return diff.includes('\n@@');
}

/** The numbers of lines before and after in the line that begins a hunk; a missing one is 1. */
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const UNKNOWN_HUNK = ['', 'Infinity', 'Infinity'];

/**
 * Groups consecutive diff lines of one kind, so that a long diff needs few elements. What stands behind the last line of
 * a hunk names the next file: a changed line may begin in the same way.
 */
export function groupLines(text: string): IDiffGroup[] {
  const groups: IDiffGroup[] = [];
  let isInHead = true;
  let oldLinesLeft = 0;
  let newLinesLeft = 0;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const isHunk = line.startsWith('@@');
    if (isHunk) {
      const [, oldLines = '1', newLines = '1'] =
        HUNK.exec(line) ?? UNKNOWN_HUNK;
      [isInHead, oldLinesLeft, newLinesLeft] = [
        false,
        Number(oldLines),
        Number(newLines)
      ];
    }
    const isMark = line.startsWith('\\');
    const change = isInHead && !isMark ? 'file' : changeOf(line);
    if (!isHunk && !isMark && !isInHead) {
      oldLinesLeft -= change === 'added' ? 0 : 1;
      newLinesLeft -= change === 'removed' ? 0 : 1;
      isInHead = oldLinesLeft <= 0 && newLinesLeft <= 0;
    }
    const lastGroup = groups.at(-1);
    if (lastGroup?.change === change) {
      lastGroup.text += `\n${line}`;
    } else {
      groups.push({ change, text: line });
    }
  }
  return groups;
}

function changeOf(line: string): Change {
  switch (line[0]) {
    case '+':
      return 'added';
    case '-':
      return 'removed';
    case '@':
      return 'place';
    default:
      return 'same';
  }
}
