/**
 * Putting back: a button on each prompt whose answer the notebook does not show.
 */
import { createContext, useContext, useState } from 'react';
import { useHost } from '../host';

/** Which answers can be put back, and how. */
export interface IPutBack {
  turns: ReadonlySet<string>;
  /** Resolves to what hindered it, or to nothing. */
  putBack: (turn: string) => Promise<string>;
}

const PutBackContext = createContext<IPutBack | null>(null);

export const PutBackProvider = PutBackContext.Provider;

/** Draws the button, and what became of it; nothing where the notebook shows the answer. */
export function MissingAnswerButton({ target }: { target: string }) {
  const { words } = useHost();
  const found = useContext(PutBackContext);
  const [told, setTold] = useState<string | null>(null);
  const [waits, setWaits] = useState(false);
  const isLost = found?.turns.has(target) === true;
  if (found === null || (!isLost && told === null)) {
    return null;
  }
  const put = async () => {
    setWaits(true);
    setTold('');
    const problem = await found.putBack(target);
    setTold(problem === '' ? words.__('It stands in the notebook.') : problem);
    setWaits(false);
  };
  return (
    <div className="plm-PutBack">
      {isLost && (
        <>
          <span>{words.__('The notebook does not show the answer.')}</span>
          <button
            type="button"
            className="plm-Link"
            aria-disabled={waits}
            title={words.__(
              'It was not saved, or its output was cleared. Writes it into its cell, or into a new one; nothing is run.'
            )}
            onClick={() => {
              if (!waits) {
                void put();
              }
            }}
          >
            {words.__('Put back into the notebook')}
          </button>
        </>
      )}
      <span role="status">{told}</span>
    </div>
  );
}
