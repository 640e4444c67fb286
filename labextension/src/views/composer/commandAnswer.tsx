/** The answer of a slash command. */
import type { TypedAnswer } from '../../protocol/generated';
import { LinkButton } from '../controls/buttons';
import { onEscape } from '../dom/effects';
import { useHost } from '../host';

export interface ICommandAnswer extends TypedAnswer {
  /** The command as it was typed. */
  command: string;
}

/** Draws the answer until it is closed. */
export function CommandAnswer(props: {
  answer: ICommandAnswer;
  onClose: () => void;
}) {
  const { answer, onClose } = props;
  const { Markdown, words } = useHost();
  return (
    <section
      className="plm-CommandAnswer"
      aria-label={words.__('Answer of %1', answer.command)}
      onKeyDown={onEscape(onClose)}
    >
      <div className="plm-CommandAnswer-head">
        <span className="plm-CommandAnswer-name" dir="auto">
          {answer.command}
        </span>
        <LinkButton onClick={onClose}>{words.__('Close')}</LinkButton>
      </div>
      <div className="plm-CommandAnswer-text" role="status" tabIndex={0}>
        <Markdown text={answer.markdown} />
      </div>
    </section>
  );
}
