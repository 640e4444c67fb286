/** The rest of a list, which a button unfolds below the first rows. */
import { LinkButton } from '../../controls/buttons';
import { useHost } from '../../host';

interface IFoldedRestProps {
  isUnfolded: boolean;
  /** The button's label while the rest is folded. */
  moreLabel: string;
  onFold: (isUnfolded: boolean) => void;
}

/** Draws the button: it stays, and folds the rest again, so that the focus stays, too. */
export function FoldedRest({
  isUnfolded,
  moreLabel,
  onFold
}: IFoldedRestProps) {
  const { words } = useHost();
  return (
    <LinkButton
      className="plm-Inspector-link plm-Inspector-rest"
      aria-expanded={isUnfolded}
      onClick={() => {
        onFold(!isUnfolded);
      }}
    >
      {isUnfolded ? words.__('Only the first') : moreLabel}
    </LinkButton>
  );
}
