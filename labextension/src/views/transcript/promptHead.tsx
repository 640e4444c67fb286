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
  attached: readonly StandalonePart[];
  /** Whether the prompt was reverted. */
  reverted: boolean;
  /** The prompt's text. */
  children: ReactNode;
}

/** Draws the line and the text; the chip opens to what went along, below it, part by part. */
export function PromptHead(props: IPromptHeadProps) {
  const { origin, isTask, attached, reverted, children } = props;
  const { words } = useHost();
  const [open, setOpen] = useState(false);
  const list = useId();
  const label = attachedWords(attached, words);
  return (
    <>
      <div className="plm-TurnPrompt-source">
        <span className="plm-Hidden">
          {isTask ? words.__('Asked') : words.__('You said')}{' '}
        </span>
        {isTask ? words.__('from the agent') : <Source origin={origin} />}
        {reverted && <strong>{words.__('Reverted')}</strong>}
        {label !== '' && (
          <button
            type="button"
            className="plm-TurnPrompt-attached"
            aria-expanded={open}
            aria-controls={open ? list : undefined}
            aria-label={words.__('Went along: %1', label)}
            title={words.__('What went along with the prompt')}
            onClick={() => {
              setOpen(!open);
            }}
          >
            + {label}
          </button>
        )}
      </div>
      {children}
      {open && (
        <div className="plm-TurnPrompt-parts" id={list}>
          {attached.map(part => (
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
  const text = sourceWords(origin, words);
  const cell = origin?.cell_id;
  return notebook === null || cell === undefined ? (
    <>{text}</>
  ) : (
    <LinkButton
      title={words.__('Show the cell')}
      onClick={() => {
        notebook.showCell(cell);
      }}
    >
      {text}
    </LinkButton>
  );
}

function sourceWords(origin: Origin | undefined, words: IWords): string {
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
function attachedWords(
  attached: readonly StandalonePart[],
  words: IWords
): string {
  const notebookParts = attached.filter(part => part.type === 'notebook');
  const cells = notebookParts.flatMap(part =>
    part.cells.flatMap(cell => cell.number ?? [])
  );
  const names = [...new Set(notebookParts.flatMap(part => part.names))];
  const others = attached.filter(part => part.type !== 'notebook');
  const [other] = others;
  const tokens = notebookParts.reduce(
    (sum, part) => sum + (part.tokens ?? 0),
    0
  );
  const phrases = [
    cells.length === 0
      ? ''
      : cells.length === 1
        ? words.__('cell %1', rangesText(cells, '–'))
        : words.__('cells %1', rangesText(cells, '–')),
    ...names.map(name => `@${name}`),
    other?.type === 'file' && others.length === 1
      ? (other.filename ?? other.mime)
      : others.length > 0
        ? words._n('%1 part', '%1 parts', others.length)
        : ''
  ].filter(phrase => phrase !== '');
  const listed =
    phrases.length === 0 && notebookParts.length > 0
      ? words.__('notebook')
      : phrases.join(', ');
  return visibleText(tokens > 0 ? `${listed} · ${count(tokens)}` : listed);
}
