/** Buttons: in the looks of our pages, and those that copy a text to the clipboard and say whether that worked. */
import { useState, type ComponentPropsWithoutRef, type ReactNode } from 'react';
import { useHost } from '../host';

/** Returns a component that draws a button with some classes, and those that it is given; it sends no form. */
function buttonWith(classes: string) {
  return function Button({
    className = '',
    ...buttonProps
  }: ComponentPropsWithoutRef<'button'>) {
    return (
      <button
        type="button"
        className={`${classes} ${className}`.trimEnd()}
        {...buttonProps}
      />
    );
  };
}

/** Draws a button that looks like a link. */
export const LinkButton = buttonWith('plm-Link');
/** Draws a button with an outline. */
export const OutlinedButton = buttonWith('plm-Button');
/** Draws a small button with an outline. */
export const SmallButton = buttonWith('plm-Button plm-Button-small');

interface ICopyButtonProps {
  label: string;
  /** The button's name, where the label alone does not say what is copied. */
  name?: string;
  title: string;
  /** Returns the text to copy. */
  textOf: () => string;
}

/** Draws a button that copies a text; nothing where nothing can be copied. */
export function CopyButton({ label, name, title, textOf }: ICopyButtonProps) {
  const { copy, words } = useHost();
  const [resultText, setResultText] = useState('');
  return copy === undefined ? null : (
    <>
      <LinkButton
        aria-label={resultText === '' ? name : undefined}
        title={title}
        onClick={() => {
          copy(textOf()).then(
            () => {
              setResultText(words.__('Copied'));
            },
            () => {
              setResultText(words.__('Not copied'));
            }
          );
        }}
        onBlur={() => {
          setResultText('');
        }}
      >
        {resultText === '' ? label : resultText}
      </LinkButton>
      <span className="plm-Hidden" aria-live="polite">
        {resultText}
      </span>
    </>
  );
}

/** Draws content with buttons in its corner, seen where they are looked for, and always reached by keys. */
export function Copyable(props: {
  copies: readonly ICopyButtonProps[];
  children: ReactNode;
}) {
  const { copies, children } = props;
  const { copy } = useHost();
  return copy === undefined || copies.length === 0 ? (
    children
  ) : (
    <div className="plm-Copyable">
      {children}
      <div className="plm-Copyable-buttons">
        {copies.map(button => (
          <CopyButton key={button.name ?? button.label} {...button} />
        ))}
      </div>
    </div>
  );
}
