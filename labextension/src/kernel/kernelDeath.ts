/** Detects that a notebook's kernel died, also after JupyterLab has dropped it. */
import type { Kernel } from '@jupyterlab/services';
import type { LinkState } from '../state/store/kernelStore';

/**
 * Remembers that a kernel died.
 *
 * JupyterLab drops a kernel that its server no longer lists, and may do so before it receives the status
 * "dead": the last status is then "restarting".
 */
export class KernelDeath {
  private _hasDied = false;
  private _isRestarting = false;

  /** Whether the last kernel died and no other one has replaced it. */
  get hasDied(): boolean {
    return this._hasDied;
  }

  /** Stores the kernel that a notebook has now, if any, and the state of its link. */
  update(
    kernel: Pick<Kernel.IKernelConnection, 'status'> | null | undefined,
    linkState: LinkState | undefined
  ): void {
    if (linkState === 'dead') {
      this._hasDied = true;
    } else if (kernel) {
      this._hasDied = false;
    } else if (this._isRestarting) {
      this._hasDied = true;
    }
    switch (kernel?.status) {
      case 'restarting':
      case 'autorestarting':
        this._isRestarting = true;
        break;
      case 'starting':
      case 'unknown':
        break;
      default:
        this._isRestarting = false;
    }
  }

  /** Resets the state when another notebook is followed. */
  forget(): void {
    this._hasDied = this._isRestarting = false;
  }
}
