/** The buttons that the kernel's table of operations has for the panel. */
import { useEffect, useState } from 'react';
import type { OperationButton } from '../../protocol/generated';
import { usePromptActions } from '../actions/prompts';
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';
import { unlessGone } from '../dom/effects';

/** Draws a button for each operation that has one, and the answer of the last one; nothing where none has. */
export function OperationButtons() {
  const { words } = useHost();
  const prompts = usePromptActions();
  const [buttons, setButtons] = useState<readonly OperationButton[]>([]);
  const [answer, setAnswer] = useState('');
  useEffect(() => {
    return unlessGone(prompts.operations(), operations => {
      setButtons(operations?.buttons ?? []);
    });
  }, [prompts]);
  if (buttons.length === 0) {
    return null;
  }
  return (
    <div className="plm-Operations" role="group" aria-label={words.__('More')}>
      {buttons.map(button => (
        <LinkButton
          key={button.label}
          title={button.help}
          onClick={() => {
            void prompts.operate(button).then(setAnswer);
          }}
        >
          {button.label}
        </LinkButton>
      ))}
      <p className="plm-Muted plm-Operations-words" role="status" dir="auto">
        {answer}
      </p>
    </div>
  );
}
