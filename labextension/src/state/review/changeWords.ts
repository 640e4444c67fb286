/** What is said of a change to a cell, in a bar, a list and by a screen reader. */
import type { MadeChange } from '../../protocol/generated';
import type { ITranslations } from '../text/translations';
import { visibleText } from '../text/visibleText';
import type { ICellReview } from './cellReview';

/** Characters of a source that name a cell without a number. */
const MAX_NAME_CHARS = 40;

/** Returns what is to happen or happened to a cell, in one word for the row of a list. */
export function actionWord(
  { action, state, undone }: Pick<MadeChange, 'action' | 'state' | 'undone'>,
  words: ITranslations
): string {
  const isMade = state === 'open' || state === 'accepted' || undone;
  switch (action) {
    case 'insert':
      return words.__('New');
    case 'edit':
      return isMade ? words.__('Changed') : words.__('Change');
    case 'move':
      return isMade ? words.__('Moved') : words.__('Move');
    case 'delete':
      return isMade ? words.__('Deleted') : words.__('Delete');
  }
}

/** Returns the name of a cell: its number, else the beginning of its source. */
export function cellName(
  { number, old, new: newSource }: Pick<MadeChange, 'number' | 'old' | 'new'>,
  words: ITranslations
): string {
  if (typeof number === 'number') {
    return words.__('cell %1', number);
  }
  const firstLine = `${newSource ?? ''}\n${old ?? ''}`
    .split('\n', 200)
    .find(piece => piece.trim() !== '');
  if (firstLine === undefined) {
    return words.__('an empty cell');
  }
  const characters = Array.from(
    visibleText(firstLine.trim().slice(0, 2 * MAX_NAME_CHARS))
  );
  return characters.length > MAX_NAME_CHARS
    ? `${characters.slice(0, MAX_NAME_CHARS).join('')}…`
    : characters.join('');
}

/** Returns what the agent did with a cell or wants to do, as the title of its bar. */
export function reviewTitle(
  {
    isDeleted,
    isInserted,
    isMoved,
    state,
    sourceBefore,
    sourceAfter
  }: Pick<
    ICellReview,
    | 'isDeleted'
    | 'isInserted'
    | 'isMoved'
    | 'state'
    | 'sourceBefore'
    | 'sourceAfter'
  >,
  words: ITranslations
): string {
  const isMade = state === 'open';
  if (isDeleted) {
    return isMade
      ? words.__('The agent deleted this cell')
      : words.__('The agent wants to delete this cell');
  }
  if (isInserted) {
    return isMade
      ? words.__('The agent inserted this cell')
      : words.__('The agent wants to insert this cell');
  }
  if (isMoved && sourceBefore === sourceAfter) {
    return isMade
      ? words.__('The agent moved this cell')
      : words.__('The agent wants to move this cell');
  }
  if (isMoved) {
    return isMade
      ? words.__('The agent moved and changed this cell')
      : words.__('The agent wants to move and change this cell');
  }
  return isMade
    ? words.__('The agent changed this cell')
    : words.__('The agent wants to change this cell');
}
