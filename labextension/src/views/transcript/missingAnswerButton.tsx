/** A button on each prompt that inserts its answer into a notebook that does not show it. */
import { createContext, useContext, useState } from 'react';
import { useNotebookActionsIfOffered } from '../actions/notebook';
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';

const MissingAnswersContext = createContext<ReadonlySet<string> | null>(null);

/** Provides the turns whose answers the notebook does not show; null if they are unknown. */
export const MissingAnswersProvider = MissingAnswersContext.Provider;

/** Draws the button and its result; nothing if the notebook shows the answer. */
export function MissingAnswerButton({ turnId }: { turnId: string }) {
  const { words } = useHost();
  const missingTurns = useContext(MissingAnswersContext);
  const notebook = useNotebookActionsIfOffered();
  const [result, setResult] = useState<string | null>(null);
  const [isWaiting, setWaiting] = useState(false);
  const isMissing = missingTurns?.has(turnId) === true;
  if (
    missingTurns === null ||
    notebook === null ||
    (!isMissing && result === null)
  ) {
    return null;
  }
  const insert = async () => {
    setWaiting(true);
    setResult('');
    const problem = await notebook.insertAnswer(turnId);
    setResult(
      problem === '' ? words.__('The answer is in the notebook.') : problem
    );
    setWaiting(false);
  };
  return (
    <div className="plm-MissingAnswer">
      {isMissing && (
        <>
          <span>{words.__('The notebook does not show the answer.')}</span>
          <LinkButton
            aria-disabled={isWaiting}
            title={words.__(
              'It was not saved, or its output was cleared. Writes it into its cell, or into a new one; nothing is run.'
            )}
            onClick={() => {
              if (!isWaiting) {
                void insert();
              }
            }}
          >
            {words.__('Insert the answer again')}
          </LinkButton>
        </>
      )}
      <span role="status">{result}</span>
    </div>
  );
}
