/** Words that open the glossary at their meaning. */
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { OutlinedButton } from '../../controls/buttons';
import { ModalDialog } from '../../controls/modalDialog';
import { useHost } from '../../host';
import { glossaryEntries, type Term } from './glossary';

interface ITermProps {
  /** The word whose meaning is shown first; null shows the glossary from its beginning. */
  term: Term | null;
  /** The word as it stands in its sentence. */
  children: ReactNode;
  className?: string;
}

/** Draws the word as a button; a click opens the glossary at it. */
export function TermButton(props: ITermProps) {
  const { term, children, className = 'plm-Term' } = props;
  const { words } = useHost();
  const buttonRef = useRef<HTMLButtonElement>(null);
  const [dialogParent, setDialogParent] = useState<Element | null>(null);
  const meaning = glossaryEntries(words).find(
    entry => entry.term === term
  )?.meaning;
  return (
    <>
      <button
        ref={buttonRef}
        type="button"
        className={className}
        aria-haspopup="dialog"
        title={meaning}
        onClick={() => {
          // A dialog may not stand inside the paragraph of its word.
          const inspector = buttonRef.current?.closest('.plm-Inspector');
          setDialogParent(inspector ?? document.body);
        }}
      >
        {children}
      </button>
      {dialogParent !== null &&
        createPortal(
          <GlossaryDialog
            term={term}
            onClose={() => {
              setDialogParent(null);
            }}
          />,
          dialogParent
        )}
    </>
  );
}

/** Draws a text in which the term opens the glossary; where the term is not in it, the whole text does. */
export function TextWithTerm({ text, term }: { text: string; term: Term }) {
  const { words } = useHost();
  const name =
    glossaryEntries(words).find(entry => entry.term === term)?.name ?? term;
  const nameStart = text.indexOf(name);
  if (nameStart < 0) {
    return <TermButton term={term}>{text}</TermButton>;
  }
  // A button is not broken into lines, so the words around the term stay outside of it.
  return (
    <>
      {text.slice(0, nameStart)}
      <TermButton term={term}>{name}</TermButton>
      {text.slice(nameStart + name.length)}
    </>
  );
}

interface IGlossaryDialogProps {
  term: Term | null;
  onClose: () => void;
}

function GlossaryDialog({ term, onClose }: IGlossaryDialogProps) {
  const { words } = useHost();
  const chosenRef = useRef<HTMLElement>(null);
  useEffect(() => {
    chosenRef.current?.scrollIntoView({ block: 'center' });
  }, []);
  return (
    <ModalDialog
      className="plm-Glossary"
      title={words.__('Glossary')}
      onClose={onClose}
    >
      <dl className="plm-Glossary-terms" tabIndex={0}>
        {glossaryEntries(words).map(entry => (
          <div key={entry.term} data-chosen={entry.term === term || undefined}>
            <dt ref={entry.term === term ? chosenRef : undefined}>
              {entry.name}
            </dt>
            <dd>{entry.meaning}</dd>
          </div>
        ))}
      </dl>
      <OutlinedButton onClick={onClose}>{words.__('Close')}</OutlinedButton>
    </ModalDialog>
  );
}
