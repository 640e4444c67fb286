/**
 * The text of a prompt, in the direction of its script; long text is collapsed.
 */
import { useId, useState } from 'react';
import { useHost } from '../host';

/** Text with more words or more lines is collapsed. */
const LONG_WORDS = 150;
const LONG_LINES = 12;

/** Draws a prompt. The whole text is in the page, so that it can be found and copied. */
export function PromptText({ text }: { text: string }) {
  const { words } = useHost();
  const [open, setOpen] = useState(false);
  const place = useId();
  const count = text.split(/\s+/, LONG_WORDS * 100).filter(Boolean).length;
  const isLong = count > LONG_WORDS || text.split('\n').length > LONG_LINES;
  return (
    <>
      <div
        id={place}
        className="plm-TurnPrompt-text"
        dir="auto"
        data-folded={isLong && !open}
      >
        {text}
      </div>
      {isLong && (
        <button
          type="button"
          className="plm-Link"
          aria-expanded={open}
          aria-controls={place}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {open
            ? words.__('Show less')
            : words._n(
                'Show the whole word',
                'Show all %1 words',
                count,
                count
              )}
        </button>
      )}
    </>
  );
}
