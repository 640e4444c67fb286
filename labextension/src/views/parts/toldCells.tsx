/**
 * Which of the user's cells the agent was told of with a prompt, and what it was told, word for word.
 */
import type { NotebookPart, NotedEdit } from '../../protocol/generated';
import { count } from '../../state/display/numberFormat';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';

/** Says in a sentence which cells went along, and how many tokens they took. */
export function toldCells(part: NotebookPart, words: IWords): string {
  const numbers = part.cells.flatMap(cell => cell.number ?? []);
  const failed = part.cells.filter(cell => cell.status === 'error').length;
  // Logs of older versions have none.
  const edits = (state: NotedEdit['state']) =>
    (part.edits as NotebookPart['edits'] | undefined)?.filter(
      edit => edit.state === state
    ).length ?? 0;
  const facts = [
    numbers.length === 0
      ? ''
      : numbers.length === 1
        ? words.__('cell %1', spans(numbers))
        : words.__('cells %1', spans(numbers)),
    failed > 0 ? words.__('%1 with an error', failed) : '',
    part.omitted.length > 0
      ? words.__('%1 only named', part.omitted.length)
      : '',
    edits('edited') > 0
      ? words.__('%1 edited and not run', edits('edited'))
      : '',
    edits('deleted') > 0 ? words.__('%1 deleted', edits('deleted')) : '',
    part.hidden > 0 ? words.__('%1 kept from it', part.hidden) : '',
    part.tokens ? words.__('%1 tokens', count(part.tokens)) : ''
  ];
  if (part.about !== 'runs') {
    facts.unshift(part.names.map(name => `@${name}`).join(', '));
  }
  const told = facts.filter(fact => fact !== '').join(', ');
  return part.about === 'runs'
    ? words.__('What you ran was told: %1', told)
    : words.__('Goes along: %1', told);
}

/** Draws the sentence, which opens to the text as the model is sent it. */
export function ToldCells({ part }: { part: NotebookPart }) {
  const { words } = useHost();
  return (
    <Disclosure className="plm-ToldCells" head={toldCells(part, words)}>
      <pre className="plm-ToldCells-text" tabIndex={0}>
        {part.text}
      </pre>
    </Disclosure>
  );
}

/** Joins numbers that follow each other: "1, 2, 4 to 9". */
export function spans(numbers: readonly number[], to = ' to '): string {
  const found: [number, number][] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last?.[1] === number - 1) {
      last[1] = number;
    } else {
      found.push([number, number]);
    }
  }
  return found
    .map(([first, last]) =>
      last === first
        ? String(first)
        : last === first + 1
          ? `${first}, ${last}`
          : `${first}${to}${last}`
    )
    .join(', ');
}
