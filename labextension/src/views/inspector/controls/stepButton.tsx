/** A button for the next or previous place, which stays focusable at the end. */
import type { ReactNode } from 'react';
import { STOP_ATTRIBUTE } from './listFocus';
import { SmallButton } from '../../controls/buttons';

interface IStepButtonProps {
  /** Whether there is no further place in this direction. */
  isAtEnd: boolean;
  onStep: () => void;
  label?: string;
  title?: string;
  /** Where it stands in a toolbar, which is one stop of the Tab key. */
  tabIndex?: 0 | -1;
  children: ReactNode;
}

/**
 * Draws the button. At the end it says that it is not available and does nothing, but it can have the focus: a
 * browser takes the focus from a button that is disabled, and who pressed it by a key would be lost.
 */
export function StepButton(props: IStepButtonProps) {
  const { isAtEnd, onStep, label, title, tabIndex, children } = props;
  return (
    <SmallButton
      aria-label={label}
      title={title}
      aria-disabled={isAtEnd}
      {...(tabIndex === undefined ? {} : { tabIndex, ...STOP_ATTRIBUTE })}
      onClick={() => {
        if (!isAtEnd) {
          onStep();
        }
      }}
    >
      {children}
    </SmallButton>
  );
}
