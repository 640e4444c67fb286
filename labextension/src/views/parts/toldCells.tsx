/** The user's cells that were sent to the agent with a prompt, and the exact text that was sent. */
import type { NotebookPart, NotedEdit } from '../../protocol/generated';
import { count } from '../../state/text/numberFormat';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';

/** Returns a sentence that names the sent cells and their tokens. */
export function sentCellsText(part: NotebookPart, words: IWords): string {
  const cellNumbers = part.cells.flatMap(cell => cell.number ?? []);
  const failedCount = part.cells.filter(cell => cell.status === 'error').length;
  // Logs of older versions hold no edits.
  const countEdits = (state: NotedEdit['state']) =>
    (part.edits as NotebookPart['edits'] | undefined)?.filter(
      edit => edit.state === state
    ).length ?? 0;
  const facts = [
    cellNumbers.length === 0
      ? ''
      : cellNumbers.length === 1
        ? words.__('cell %1', rangesText(cellNumbers))
        : words.__('cells %1', rangesText(cellNumbers)),
    failedCount > 0 ? words.__('%1 with an error', failedCount) : '',
    part.omitted.length > 0
      ? words.__('%1 only named', part.omitted.length)
      : '',
    countEdits('edited') > 0
      ? words.__('%1 edited and not run', countEdits('edited'))
      : '',
    countEdits('deleted') > 0
      ? words.__('%1 deleted', countEdits('deleted'))
      : '',
    part.hidden > 0 ? words.__('%1 kept from it', part.hidden) : '',
    part.tokens ? words.__('%1 tokens', count(part.tokens)) : ''
  ];
  if (part.about !== 'runs') {
    facts.unshift(part.names.map(name => `@${name}`).join(', '));
  }
  const sentence = facts.filter(fact => fact !== '').join(', ');
  return part.about === 'runs'
    ? words.__('What you ran was told: %1', sentence)
    : words.__('Goes along: %1', sentence);
}

/** Draws the sentence, which opens to the text as the model is sent it. */
export function SentCells({ part }: { part: NotebookPart }) {
  const { words } = useHost();
  return (
    <Disclosure className="plm-ToldCells" head={sentCellsText(part, words)}>
      <pre className="plm-ToldCells-text" tabIndex={0}>
        {part.text}
      </pre>
    </Disclosure>
  );
}

/** Joins numbers that follow each other: "1, 2, 4 to 9". */
export function rangesText(
  numbers: readonly number[],
  separator = ' to '
): string {
  const ranges: [number, number][] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) {
      last[1] = number;
    } else {
      ranges.push([number, number]);
    }
  }
  return ranges
    .map(([first, last]) =>
      last === first
        ? String(first)
        : last === first + 1
          ? `${first}, ${last}`
          : `${first}${separator}${last}`
    )
    .join(', ');
}
