/** The text of a prompt, in the direction of its script; long text is collapsed. */
import { useId } from 'react';
import { LinkButton } from './buttons';
import { useHost } from '../host';
import { useChosenOpen } from './shownLine';

/** Text with more words or more lines is collapsed. */
const MAX_WORDS = 150;
const MAX_LINES = 12;
const MAX_COUNTED_WORDS = MAX_WORDS * 100;

/** Draws a prompt. The whole text is in the page, so that it can be found and copied. */
export function PromptText(props: {
  text: string;
  /** The key of the line that the prompt is. */
  line?: string;
}) {
  const { text, line } = props;
  const { words } = useHost();
  const [isChosenOpen, setOpen] = useChosenOpen(
    place => place.lineKey === line
  );
  const isOpen = isChosenOpen === true;
  const textId = useId();
  const wordCount = text.split(/\s+/, MAX_COUNTED_WORDS).filter(Boolean).length;
  const isLong = wordCount > MAX_WORDS || text.split('\n').length > MAX_LINES;
  return (
    <>
      <div
        id={textId}
        className="plm-TurnPrompt-text"
        data-line={line}
        dir="auto"
        data-folded={isLong && !isOpen}
      >
        {text}
      </div>
      {isLong && (
        <LinkButton
          aria-expanded={isOpen}
          aria-controls={textId}
          onClick={() => {
            setOpen(!isOpen);
          }}
        >
          {isOpen
            ? words.__('Show less')
            : words._n('Show the whole word', 'Show all %1 words', wordCount)}
        </LinkButton>
      )}
    </>
  );
}
