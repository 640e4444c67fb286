/**
 * A line that opens in place: a real button, and what it shows.
 */
import { useId, useState, type ReactNode } from 'react';
import { useHost } from '../host';

interface IDisclosureProps {
  /** What the button says; text, signs and numbers, nothing that can be clicked. */
  head: ReactNode;
  children: ReactNode;
  className: string;
  /** Open until a person closes it. */
  open?: boolean;
}

/** Draws a button and, while it is open, what belongs to it. */
export function Disclosure({
  head,
  children,
  className,
  open = false
}: IDisclosureProps) {
  const { Icon } = useHost();
  const [chosen, setChosen] = useState<boolean | null>(null);
  const shown = chosen ?? open;
  const body = useId();
  return (
    <div className={`plm-Disclosure ${className}`} data-open={shown}>
      <button
        type="button"
        className="plm-Disclosure-head"
        aria-expanded={shown}
        aria-controls={shown ? body : undefined}
        onClick={() => {
          setChosen(!shown);
        }}
      >
        {head}
        <span className="plm-Disclosure-caret" aria-hidden="true">
          <Icon name={shown ? 'unfold' : 'fold'} />
        </span>
      </button>
      {shown && (
        <div className="plm-Disclosure-body" id={body}>
          {children}
        </div>
      )}
    </div>
  );
}
