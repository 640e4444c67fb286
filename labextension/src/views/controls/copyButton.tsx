/**
 * Buttons that copy a text to the clipboard, and say whether that worked.
 */
import { useState, type ReactNode } from 'react';
import { useHost } from '../host';

interface ICopyButtonProps {
  label: string;
  /** The button's name, where the label alone does not say what is copied. */
  name?: string;
  title: string;
  /** Returns the text. */
  text: () => string;
}

/** Draws the button; nothing where nothing can be copied. */
export function CopyButton({ label, name, title, text }: ICopyButtonProps) {
  const { copy, words } = useHost();
  const [told, setTold] = useState('');
  return copy === undefined ? null : (
    <>
      <button
        type="button"
        className="plm-Link"
        aria-label={told === '' ? name : undefined}
        title={title}
        onClick={() => {
          copy(text()).then(
            () => {
              setTold(words.__('Copied'));
            },
            () => {
              setTold(words.__('Not copied'));
            }
          );
        }}
        onBlur={() => {
          setTold('');
        }}
      >
        {told === '' ? label : told}
      </button>
      <span className="plm-Hidden" aria-live="polite">
        {told}
      </span>
    </>
  );
}

/** Draws content with buttons in its corner, seen where they are looked for, and always reached by keys. */
export function Copyable({
  copies,
  children
}: {
  copies: readonly ICopyButtonProps[];
  children: ReactNode;
}) {
  const { copy } = useHost();
  return copy === undefined || copies.length === 0 ? (
    children
  ) : (
    <div className="plm-Copyable">
      {children}
      <div className="plm-Copyable-buttons">
        {copies.map(one => (
          <CopyButton key={one.name ?? one.label} {...one} />
        ))}
      </div>
    </div>
  );
}
