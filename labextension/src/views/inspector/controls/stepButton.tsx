/** A button for the next or previous place, which stays focusable at the end. */
import type { ReactNode } from 'react';

interface IStepButtonProps {
  /** Whether there is no further place in this direction. */
  isAtEnd: boolean;
  onStep: () => void;
  label?: string;
  title?: string;
  children: ReactNode;
}

/**
 * Draws the button. At the end it says that it is not available and does nothing, but it can have the focus: a
 * browser takes the focus from a button that is disabled, and who pressed it by a key would be lost.
 */
export function StepButton(props: IStepButtonProps) {
  const { isAtEnd, onStep, label, title, children } = props;
  return (
    <button
      type="button"
      className="plm-Button plm-Button-small"
      aria-label={label}
      title={title}
      aria-disabled={isAtEnd}
      onClick={() => {
        if (!isAtEnd) {
          onStep();
        }
      }}
    >
      {children}
    </button>
  );
}
