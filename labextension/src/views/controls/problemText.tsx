/** What went wrong, in a sentence. */

/** Draws the sentence, which a screen reader reads at once; nothing for an empty one. */
export function ProblemText(props: { text: string; className?: string }) {
  const { text, className = 'plm-Muted' } = props;
  return text === '' ? null : (
    <p className={className} role="alert">
      {text}
    </p>
  );
}
