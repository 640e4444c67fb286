/**
 * The transport to a kernel through JupyterLab's services.
 *
 * A new connection holds messages back until the kernel has answered on the shell channel, which a
 * running cell blocks for up to 3 s. Until then a clone that does not wait sends the messages, so that
 * a page reloaded during a cell reconnects at once.
 */
import { Kernel, KernelConnection, KernelMessage } from '@jupyterlab/services';
import type { CommandReply } from '../protocol/generated';
import type { KernelNotice } from '../state/store/kernelStore';
import type { ITransport, TransportEvent } from './transport';

const NOTICE_TYPE = 'palimpsest_notice';
const REQUEST_TYPE = 'palimpsest_request' as 'debug_request';
/** The comm target by which a kernel with the package is recognised. */
const COMM_TARGET = 'palimpsest';

/** Matches code that may load the package. */
const LOADING_CODE = /palimpsest|%agent/;

/** The transport to one kernel. */
export class JupyterTransport implements ITransport {
  onNotice: ((notice: KernelNotice) => void) | null = null;
  onEvent: ((event: TransportEvent) => void) | null = null;
  private _clone: Kernel.IKernelConnection | null = null;
  private _isRestarting = false;
  private _hasRun = false;
  private _loadingRequestId = '';

  constructor(private readonly _kernel: Kernel.IKernelConnection) {
    _kernel.iopubMessage.connect(this._onNotice);
    _kernel.iopubMessage.connect(this._onExecution);
    _kernel.statusChanged.connect(this._onStatus);
    _kernel.connectionStatusChanged.connect(this._onConnection);
    this._clone = connectionWithoutWait(_kernel);
    this._clone.iopubMessage.connect(this._onNotice);
    void _kernel.info.then(() => {
      this._dropClone();
    });
  }

  get id(): string {
    return this._kernel.id;
  }

  async hasPackage(): Promise<boolean> {
    const reply = await this._send('comm_info_request' as 'debug_request', {
      target_name: COMM_TARGET
    });
    const { comms } = reply as { comms?: Record<string, unknown> };
    return comms !== undefined && Object.keys(comms).length > 0;
  }

  async ask(content: Record<string, unknown>): Promise<CommandReply> {
    return (await this._send(REQUEST_TYPE, content)) as unknown as CommandReply;
  }

  /** Sends a request on the control channel, which a kernel handles also while a cell runs. */
  private _send(
    msgType: 'debug_request',
    content: Record<string, unknown>
  ): Promise<Record<string, unknown>> {
    const kernel = this._clone ?? this._kernel;
    if (kernel.isDisposed || kernel.status === 'dead') {
      return Promise.reject(new Error('The kernel is gone.'));
    }
    // The types cover only Jupyter's own requests; ours is sent in the same way.
    const message = KernelMessage.createMessage<KernelMessage.IDebugRequestMsg>(
      {
        channel: 'control',
        msgType,
        session: kernel.clientId,
        username: kernel.username,
        content: content as unknown as KernelMessage.IDebugRequestMsg['content']
      }
    );
    const future = kernel.sendControlMessage(message, true, true);
    return new Promise((resolve, reject) => {
      future.onReply = reply => {
        resolve(reply.content as unknown as Record<string, unknown>);
      };
      future.done.catch(reject);
    });
  }

  dispose(): void {
    this.onNotice = this.onEvent = null;
    this._kernel.iopubMessage.disconnect(this._onNotice);
    this._kernel.iopubMessage.disconnect(this._onExecution);
    this._kernel.statusChanged.disconnect(this._onStatus);
    this._kernel.connectionStatusChanged.disconnect(this._onConnection);
    this._dropClone();
  }

  private _dropClone(): void {
    // Requests without a reply would be lost with the clone; replies take milliseconds.
    const clone = this._clone;
    this._clone = null;
    setTimeout(() => {
      clone?.dispose();
    }, CLONE_LINGER_MS);
  }

  private readonly _onNotice = (
    _sender: Kernel.IKernelConnection,
    message: KernelMessage.IIOPubMessage
  ): void => {
    if ((message.header.msg_type as string) === NOTICE_TYPE) {
      this.onNotice?.(message.content as unknown as KernelNotice);
    }
  };

  /** Detects the end of code that may have loaded the package. */
  private readonly _onExecution = (
    _sender: Kernel.IKernelConnection,
    message: KernelMessage.IIOPubMessage
  ): void => {
    const { msg_id = '' } = message.parent_header as { msg_id?: string };
    if (KernelMessage.isExecuteInputMsg(message)) {
      this._loadingRequestId = LOADING_CODE.test(message.content.code)
        ? msg_id
        : '';
    } else if (
      KernelMessage.isStatusMsg(message) &&
      message.content.execution_state === 'idle' &&
      msg_id !== '' &&
      msg_id === this._loadingRequestId
    ) {
      this._loadingRequestId = '';
      this.onEvent?.('loaded');
    }
  };

  /** Asks for the status of a kernel that died and was restarted, once JupyterLab is connected to it again. */
  private readonly _onConnection = (
    _sender: Kernel.IKernelConnection,
    status: Kernel.ConnectionStatus
  ): void => {
    if (status === 'connected' && this._isRestarting) {
      this._askForStatus();
    }
  };

  /** Sends an empty request: a restarted kernel reports no status until something runs. */
  private _askForStatus(): void {
    this._kernel
      .requestExecute({ code: '', silent: true, store_history: false })
      .done.catch(() => undefined);
  }

  private _handleRestart(): void {
    this._isRestarting = true;
    this._dropClone();
    this.onEvent?.('restarted');
  }

  private readonly _onStatus = (
    _sender: Kernel.IKernelConnection,
    status: Kernel.Status
  ): void => {
    switch (status) {
      case 'restarting':
      case 'autorestarting':
        this._handleRestart();
        break;
      case 'starting':
        // Of a restart that another page requested, this page receives only the status "starting".
        if (this._hasRun && !this._isRestarting) {
          this._handleRestart();
          this._askForStatus();
        }
        break;
      case 'dead':
        this.onEvent?.('dead');
        break;
      case 'idle':
      case 'busy':
        this._hasRun = true;
        if (this._isRestarting) {
          this._isRestarting = false;
          this.onEvent?.('ready');
        }
        break;
      default:
        break;
    }
  };
}

/** Milliseconds for which the clone remains for the replies to its requests. */
const CLONE_LINGER_MS = 2000;

/** Opens a second connection that does not wait for the shell channel. */
function connectionWithoutWait(
  kernel: Kernel.IKernelConnection
): Kernel.IKernelConnection {
  return new KernelConnection({
    model: kernel.model,
    username: kernel.username,
    serverSettings: kernel.serverSettings,
    handleComms: false,
    kernelInfoTimeout: 0
  });
}
