/** A unified diff, as shown in a permission question. */
import { useMemo } from 'react';
import { visibleText } from '../../state/text/visibleText';
import { ASKED_TEXT } from '../dom/endSeen';
import { useHost } from '../host';
import { TextEnd } from './textEnd';

type Change = 'added' | 'removed' | 'place' | 'file' | 'same';

interface IStretch {
  change: Change;
  text: string;
}

/** Draws a unified diff; the sign at the start of each line means the same as its colour. */
export function Diff({ text }: { text: string }) {
  const { words } = useHost();
  const drawn = useMemo(() => groupLines(text), [text]);
  return (
    <pre
      className="plm-Diff"
      role="group"
      aria-label={words.__('What it would change')}
      // A long diff scrolls, and must be readable by keyboard before an answer.
      tabIndex={0}
      {...{ [ASKED_TEXT]: '' }}
    >
      {drawn.map(({ change, text }, index) => (
        <span key={index} data-change={change}>
          {visibleText(text)}
        </span>
      ))}
      <TextEnd />
    </pre>
  );
}

/** Returns whether a diff contains the changes; one that was too long only counts lines. */
export function showsAll(diff: string): boolean {
  return diff.includes('\n@@');
}

/** Groups consecutive diff lines of one kind, so that a long diff needs few elements. */
export function groupLines(text: string): IStretch[] {
  const result: IStretch[] = [];
  let inHead = true;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    inHead = inHead && !line.startsWith('@@');
    const change = inHead ? 'file' : changeOf(line);
    const last = result.at(-1);
    if (last?.change === change) {
      last.text += `\n${line}`;
    } else {
      result.push({ change, text: line });
    }
  }
  return result;
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
