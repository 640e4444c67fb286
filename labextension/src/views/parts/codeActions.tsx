/** Buttons below a listing in an answer: put it into a cell, or in the place of the cell that failed. */
import { createContext, useContext, useState } from 'react';
import type { IProposedFix } from '../../state/lines/proposedFix';
import { useCellActions } from '../actions/cells';
import { SmallButton } from '../controls/buttons';
import { TextDifference } from '../controls/diff';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';

const ProposedFixContext = createContext<IProposedFix | null>(null);

/** Provides the corrected cell that the answer proposes, if any. */
export const ProposedFixProvider = ProposedFixContext.Provider;

interface ICodeActionsProps {
  code: string;
  /** The id of the part with the listing. */
  partId: string;
}

/** Draws the buttons for a listing; nothing where no action is offered. */
export function CodeActions({ code, partId }: ICodeActionsProps) {
  const { copy, words } = useHost();
  const cells = useCellActions();
  const proposedFix = useContext(ProposedFixContext);
  const [result, setResult] = useState('');
  const [isWaiting, setWaiting] = useState(false);
  const [isReplaced, setReplaced] = useState(false);
  if (cells === null && copy === undefined) {
    return null;
  }
  const fix =
    cells !== null &&
    proposedFix?.partId === partId &&
    proposedFix.code === code
      ? proposedFix
      : null;
  /** Performs one action at a time, and shows its error or its success. */
  const perform = (action: () => Promise<string>, success: string) => {
    if (isWaiting) {
      return;
    }
    setWaiting(true);
    setResult('');
    void action()
      .catch((error: unknown) => String(error))
      .then(problem => {
        setResult(problem === '' ? success : problem);
        setWaiting(false);
      });
  };
  const actionButton = (
    label: string,
    title: string,
    onPress: () => void,
    isMain = false
  ) => (
    <SmallButton
      data-main={isMain || undefined}
      aria-disabled={isWaiting}
      title={title}
      onClick={onPress}
    >
      {label}
    </SmallButton>
  );
  const replace = async () => {
    const problem =
      fix === null
        ? ''
        : ((await cells?.replace(fix.cellId, fix.source, code)) ?? '');
    if (problem === '') {
      setReplaced(true);
    }
    return problem;
  };
  const runAgain = async () => {
    const problem = await replace();
    // A cell that the user changed after it was replaced runs as it is.
    return problem === '' || isReplaced
      ? ((await cells?.run(fix?.cellId ?? '')) ?? '')
      : problem;
  };
  return (
    <div
      className="plm-CodeActions"
      role="group"
      aria-label={words.__('Use this code')}
    >
      {fix !== null && (
        <Disclosure
          className="plm-CodeActions-changes"
          head={
            fix.executionCount === undefined
              ? words.__('Changes to the cell')
              : words.__('Changes to cell %1', fix.executionCount)
          }
          open={fix.isVeryDifferent}
        >
          {fix.isVeryDifferent && (
            <p className="plm-Muted">
              {words.__(
                'Little of the cell is left in this code: look before you replace it.'
              )}
            </p>
          )}
          <TextDifference
            before={fix.source}
            now={code}
            sameWords={words.__('Nothing differs from the cell.')}
          />
        </Disclosure>
      )}
      <div className="plm-CodeActions-buttons">
        {fix !== null &&
          actionButton(
            words.__('Replace the cell'),
            words.__(
              'Puts this code in the place of the cell, unless the cell was changed since; it can be undone'
            ),
            () => {
              perform(
                replace,
                fix.executionCount === undefined
                  ? words.__('The cell was replaced. Undo brings it back.')
                  : words.__(
                      'Cell %1 was replaced. Undo brings it back.',
                      fix.executionCount
                    )
              );
            },
            !isReplaced && !fix.isVeryDifferent
          )}
        {fix !== null &&
          actionButton(
            words.__('Run again'),
            words.__('Replaces the cell if it was not yet, and runs it'),
            () => {
              perform(runAgain, words.__('The cell runs.'));
            },
            isReplaced
          )}
        {cells !== null &&
          actionButton(
            words.__('Insert below'),
            words.__('Puts this code into a new cell; nothing is run'),
            () => {
              perform(
                () => cells.insertBelow(code),
                words.__('The code is in a new cell.')
              );
            },
            fix?.isVeryDifferent === true && !isReplaced
          )}
        {copy !== undefined &&
          actionButton(
            words.__('Copy'),
            words.__('Copies this code to the clipboard'),
            () => {
              perform(() => copy(code).then(() => ''), words.__('Copied.'));
            }
          )}
        <span className="plm-CodeActions-told" role="status">
          {result}
        </span>
      </div>
    </div>
  );
}
