/** The text of a prompt, in the direction of its script; long text is collapsed. */
import { useId } from 'react';
import { LinkButton } from './buttons';
import { useHost } from '../host';
import { useChosenOpen } from './shownLine';

/** Text with more words or more lines is collapsed. */
const LONG_WORDS = 150;
const LONG_LINES = 12;

/** Draws a prompt. The whole text is in the page, so that it can be found and copied. */
export function PromptText(props: {
  text: string;
  /** The key of the line that it is. */
  line?: string;
}) {
  const { text, line } = props;
  const { words } = useHost();
  const [chosen, setOpen] = useChosenOpen(place => place.lineKey === line);
  const open = chosen === true;
  const place = useId();
  const count = text.split(/\s+/, LONG_WORDS * 100).filter(Boolean).length;
  const isLong = count > LONG_WORDS || text.split('\n').length > LONG_LINES;
  return (
    <>
      <div
        id={place}
        className="plm-TurnPrompt-text"
        data-line={line}
        dir="auto"
        data-folded={isLong && !open}
      >
        {text}
      </div>
      {isLong && (
        <LinkButton
          aria-expanded={open}
          aria-controls={place}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {open
            ? words.__('Show less')
            : words._n('Show the whole word', 'Show all %1 words', count)}
        </LinkButton>
      )}
    </>
  );
}
