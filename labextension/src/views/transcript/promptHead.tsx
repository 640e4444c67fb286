/** The line above a prompt: where it was asked, and one chip for all that went along. */
import { useId, useState, type ReactNode } from 'react';
import type { Origin } from '../../protocol/generated';
import { count } from '../../state/text/numberFormat';
import type { StandalonePart } from '../../state/lines/lines';
import { visibleText } from '../../state/text/visibleText';
import { useNotebookActionsIfOffered } from '../actions/notebook';
import { LinkButton } from '../controls/buttons';
import { useHost, type IWords } from '../host';
import { StandalonePartView } from '../parts/standaloneParts';
import { rangesText } from '../parts/toldCells';

interface IPromptHeadProps {
  origin: Origin | undefined;
  /** Whether the prompt comes from the calling agent. */
  isTask: boolean;
  attachedParts: readonly StandalonePart[];
  /** Whether the prompt was reverted. */
  isReverted: boolean;
  /** The prompt's text. */
  children: ReactNode;
}

/** Draws the line and the text; the chip opens to what went along, below it, part by part. */
export function PromptHead(props: IPromptHeadProps) {
  const { origin, isTask, attachedParts, isReverted, children } = props;
  const { words } = useHost();
  const [isOpen, setOpen] = useState(false);
  const listId = useId();
  const label = attachedText(attachedParts, words);
  return (
    <>
      <div className="plm-TurnPrompt-source">
        <span className="plm-Hidden">
          {isTask ? words.__('Asked') : words.__('You said')}{' '}
        </span>
        {isTask ? words.__('from the agent') : <Source origin={origin} />}
        {isReverted && <strong>{words.__('Reverted')}</strong>}
        {label !== '' && (
          <button
            type="button"
            className="plm-TurnPrompt-attached"
            aria-expanded={isOpen}
            aria-controls={isOpen ? listId : undefined}
            aria-label={words.__('Went along: %1', label)}
            title={words.__('What went along with the prompt')}
            onClick={() => {
              setOpen(!isOpen);
            }}
          >
            + {label}
          </button>
        )}
      </div>
      {children}
      {isOpen && (
        <div className="plm-TurnPrompt-parts" id={listId}>
          {attachedParts.map(part => (
            <StandalonePartView key={part.id} part={part} />
          ))}
        </div>
      )}
    </>
  );
}

/** Draws where a prompt was asked; the cell is a link to it. */
function Source({ origin }: { origin: Origin | undefined }) {
  const { words } = useHost();
  const notebook = useNotebookActionsIfOffered();
  const label = sourceText(origin, words);
  const cellId = origin?.cell_id;
  return notebook === null || cellId === undefined ? (
    <>{label}</>
  ) : (
    <LinkButton
      title={words.__('Show the cell')}
      onClick={() => {
        notebook.showCell(cellId);
      }}
    >
      {label}
    </LinkButton>
  );
}

function sourceText(origin: Origin | undefined, words: IWords): string {
  switch (origin?.kind) {
    case 'cell':
      return origin.execution_count === undefined
        ? words.__('cell')
        : words.__('cell [%1]', origin.execution_count);
    case 'panel':
      return words.__('panel');
    case 'api':
      return words.__('from Python');
    case 'engine':
      return words.__('from the agent');
    case undefined:
      return '';
  }
}

/** Returns what went along in a few words, such as "cells 4–7, 2 files · 678"; the number counts tokens. */
function attachedText(
  attachedParts: readonly StandalonePart[],
  words: IWords
): string {
  const notebookParts = attachedParts.filter(part => part.type === 'notebook');
  const cellNumbers = notebookParts.flatMap(part =>
    part.cells.flatMap(cell => cell.number ?? [])
  );
  const names = [...new Set(notebookParts.flatMap(part => part.names))];
  const others = attachedParts.filter(part => part.type !== 'notebook');
  const [firstOther] = others;
  const tokens = notebookParts.reduce(
    (sum, part) => sum + (part.tokens ?? 0),
    0
  );
  const phrases = [
    cellNumbers.length === 0
      ? ''
      : cellNumbers.length === 1
        ? words.__('cell %1', rangesText(cellNumbers, '–'))
        : words.__('cells %1', rangesText(cellNumbers, '–')),
    ...names.map(name => `@${name}`),
    firstOther?.type === 'file' && others.length === 1
      ? (firstOther.filename ?? firstOther.mime)
      : others.length > 0
        ? words._n('%1 part', '%1 parts', others.length)
        : ''
  ].filter(phrase => phrase !== '');
  const phraseText =
    phrases.length === 0 && notebookParts.length > 0
      ? words.__('notebook')
      : phrases.join(', ');
  return visibleText(
    tokens > 0 ? `${phraseText} · ${count(tokens)}` : phraseText
  );
}
