/** What went wrong, in a sentence. */

/** Draws the sentence, which a screen reader reads at once; nothing for an empty one. */
export function ProblemText({
  text,
  className = 'plm-Muted'
}: {
  text: string;
  className?: string;
}) {
  return text === '' ? null : (
    <p className={className} role="alert">
      {text}
    </p>
  );
}
