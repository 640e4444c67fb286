/** A disclosure: a button that shows and hides content below it. */
import { useId, type ReactNode } from 'react';
import { useHost } from '../host';
import { useChosenOpen } from './shownLine';

interface IDisclosureProps {
  /** The button's content; text, icons and numbers, nothing that can be clicked. */
  head: ReactNode;
  children: ReactNode;
  className: string;
  /** Whether it is open until the user closes it. */
  open?: boolean;
  /** The state of the line, for its colours. */
  state?: string;
  /** The key of the line that it is. */
  line?: string;
  /** The keys of the lines in it: it opens when a reader asked for one of them. */
  holds?: readonly string[];
}

/** Draws the button and, while it is open, the content. */
export function Disclosure({
  head,
  children,
  className,
  open = false,
  state,
  line,
  holds = []
}: IDisclosureProps) {
  const { Icon } = useHost();
  const [chosen, setChosen] = useChosenOpen(
    place => place.lineKey === line || holds.includes(place.lineKey)
  );
  const isOpen = chosen ?? open;
  const body = useId();
  return (
    <div
      className={`plm-Disclosure ${className}`}
      data-open={isOpen}
      data-state={state}
      data-line={line}
    >
      <button
        type="button"
        className="plm-Disclosure-head"
        aria-expanded={isOpen}
        aria-controls={isOpen ? body : undefined}
        onClick={() => {
          setChosen(!isOpen);
        }}
      >
        {head}
        <span className="plm-Disclosure-caret" aria-hidden="true">
          <Icon name={isOpen ? 'unfold' : 'fold'} />
        </span>
      </button>
      {isOpen && (
        <div className="plm-Disclosure-body" id={body}>
          {children}
        </div>
      )}
    </div>
  );
}
